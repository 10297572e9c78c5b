"""The judgement of a sweep: two one-sided tests, paired by seed, and Holm's correction."""

import json
import os
import re
from collections import Counter

import numpy as np
import pytest

from common.sweep import equivalence
from common.sweep.equivalence import DIFFERENT, EQUIVALENT, UNDECIDED
from common.system.files import ROOT

IMAGES = 10000  # to test on


def scored(points):
    """Accuracies by seed, from percentage points."""
    return {str(seed): value / 100 for seed, value in enumerate(points)}


def judged(first, second, margin=1.0, images=IMAGES):
    (pair,) = equivalence.verdicts({"a": scored(first), "b": scored(second)}, margin, images)
    return pair


def test_a_pair_is_paired_by_seed():
    """The seeds' own spread is far larger than the margin; the differences are 0.1 and -0.1."""
    seeds = np.array([50, 60, 70, 80, 55, 65.0])
    pair = judged(seeds, seeds + [0.1, -0.1, 0.1, -0.1, 0.1, -0.1])
    assert pair["verdict"] == EQUIVALENT and abs(pair["mean"]) < 1e-9
    half = 2.015 * np.std(pair["points"], ddof=1) / np.sqrt(6)  # Student's t, 5 degrees, 95%
    assert pair["interval"] == pytest.approx([-half, half], rel=1e-3)


def test_few_seeds_decide_nothing():
    pair = judged([70, 72, 71], [71, 70.5, 72.5])
    assert pair["verdict"] == UNDECIDED and pair["seeds_needed"] > 3


def test_a_difference_beyond_the_margin_is_one():
    pair = judged([70, 71, 72, 71], [73, 74.2, 74.9, 74])
    assert pair["verdict"] == DIFFERENT and pair["interval"][1] < -1


def test_a_difference_that_is_sure_but_within_the_margin_is_equivalent():
    pair = judged([70, 71, 72, 73], [70.2, 71.21, 72.19, 73.2])
    assert pair["p_corrected"]["difference"] < 0.05 and pair["verdict"] == EQUIVALENT


def test_equal_trainings_need_no_spread():
    pair = judged([70, 71], [70, 71])
    assert pair["verdict"] == EQUIVALENT and pair["p"]["difference"] == 1
    pair = judged([70, 71], [72, 73])
    assert pair["verdict"] == DIFFERENT


def test_two_equal_differences_of_few_images_may_be_chance():
    """Of a hundred images, one is a whole point."""
    assert judged([70, 71], [72, 73], images=100)["verdict"] == UNDECIDED
    assert judged([70, 71], [70, 71], images=100)["verdict"] == UNDECIDED


def test_a_single_seed_makes_no_pair():
    assert equivalence.verdicts({"a": scored([70]), "b": scored([70])}, 1.0, IMAGES) == []


def test_the_correction_counts_all_pairs():
    """A difference that two names alone would show is undecided among five."""
    first, second = [70, 70.9, 72, 71], [71.2, 71.3, 73.2, 71.9]
    alone = judged(first, second)
    assert alone["verdict"] == DIFFERENT
    random = np.random.RandomState(0)
    others = {name: scored(random.normal(71, 3, 4)) for name in "cde"}
    scores = dict({"a": scored(first), "b": scored(second)}, **others)
    pairs = equivalence.verdicts(scores, 1.0, IMAGES)
    together = next(pair for pair in pairs if (pair["first"], pair["second"]) == ("a", "b"))
    assert together["p"] == alone["p"]
    assert together["verdict"] == UNDECIDED


def test_holms_correction():
    """3 p, then 2 p, then p, and never a step down."""
    assert equivalence.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert equivalence.holm([0.6, 0.9]) == [1.0, 1.0]


@pytest.mark.parametrize("true, seeds", [(1.0, 10), (-1.0, 4), (1.5, 10)])
def test_what_differs_by_the_margin_or_more_is_rarely_called_equivalent(true, seeds):
    random, wrong = np.random.RandomState(1), 0
    for _ in range(400):
        base = random.normal(70, 2, seeds)
        wrong += judged(base, base + random.normal(true, 0.5, seeds))["verdict"] == EQUIVALENT
    assert wrong <= 32  # 20 are expected at the margin itself; P(more than 32) is below 0.5%


def test_the_number_of_seeds_that_is_named_decides():
    random = np.random.RandomState(2)
    base, noise = random.normal(70, 2, 6), random.normal(0.2, 1.2, 6)
    pair = judged(base, base + noise)
    assert pair["verdict"] == UNDECIDED
    spread, n = np.std(pair["points"], ddof=1), pair["seeds_needed"]
    assert equivalence.equivalence(pair["mean"], spread, n, 1.0) < 0.05
    assert equivalence.equivalence(pair["mean"], spread, n - 1, 1.0) >= 0.05
    assert equivalence.needed(1.0, 50.0, 1.0, 1) is None


def test_the_manual_says_what_the_committed_sweep_of_the_cnn_shows():
    with open(os.path.join(ROOT, "docs", "sweep.md"), encoding="utf-8") as file:
        text = " ".join(file.read().split())
    (path,) = re.findall(r"\(\.\./(reports/sweeps/[^/]*/cnn-10000x3\.json)\)", text)
    with open(os.path.join(ROOT, path)) as file:
        result = json.load(file)
    accuracies = {
        contender: {seed: figures["accuracy"] for seed, figures in trainings.items()}
        for contender, trainings in result["measured"].items()
    }
    means = [100 * np.mean(list(scores.values())) for scores in accuracies.values()]
    counts = [
        Counter(pair["verdict"] for pair in equivalence.verdicts(accuracies, margin, IMAGES))
        for margin in (2.5, 2, 1)
    ]
    assert not any(count[DIFFERENT] for count in counts)
    assert [count[EQUIVALENT] for count in counts] == [28, 5, 0]
    words = "%.1f%% to %.1f%% | 28 within 2.5 points, 5 within 2, none within 1"
    assert words % (min(means), max(means)) in text
    needed = [pair["seeds_needed"] for pair in result["pairs"]]
    assert "%d to %d seeds would decide" % (min(needed), max(needed)) in text
