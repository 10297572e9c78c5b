"""Check that a run's final scores belong to its final weights."""

import numpy as np

from common.networks.hyperparameters import without_dropout
from common.proof import tasks
from common.proof.reference import MULTIPLES, distance, pair, unit

ROWS = 64  # compare so many of the first rows, of the last, and in between


def problem(description, threads, products, weights, observations, scores):
    """What is wrong with the scores of some observations, as a sentence; empty if nothing is.

    products: their precision. weights: the canonical weights after training.
    """
    between = np.linspace(0, len(scores) - 1, ROWS).astype(int)
    rows = np.unique(np.r_[:ROWS, between, -ROWS:0] % len(scores))
    hp = without_dropout(description.hp)
    exact, rounded = (
        reference.scores(hp, weights, observations[rows])
        for reference in pair(description, threads, products=products)
    )
    given = tasks.of(description).given(scores[rows])
    error, allowed = distance(exact, given), MULTIPLES[products] * unit(exact, rounded)
    if error <= allowed:
        return ""
    figures = (description.task.outputs, error, allowed)
    return "the %s are not those of the trained weights: off by %.1e, allowed are %.1e" % figures
