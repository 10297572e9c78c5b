"""What paired trainings show: the mean difference of their accuracies, and its interval."""

import numpy as np

from common.bench import compare


def student(values):
    """(mean, [low, high] of 95%) by Student's t; no interval, None, of a single value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    half = compare.T.get(len(values) - 1, compare.T_MORE)
    half *= float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return mean, [mean - half, mean + half]


def paired(plain, thrown):
    """The difference in percentage points, over the seeds that both have: a dict of JSON values.

    plain, thrown: {seed: {"accuracy": from 0 to 1}}. None where they share fewer than two.
    """
    seeds = sorted(set(plain) & set(thrown), key=int)
    if len(seeds) < 2:
        return None
    points = [100 * (thrown[seed]["accuracy"] - plain[seed]["accuracy"]) for seed in seeds]
    mean, interval = student(points)
    return {"mean": mean, "interval": interval, "points": points, "verdict": verdict(interval)}


def verdict(interval):
    """In words: "lower", "higher", or "no difference shown" where the interval holds 0."""
    if interval[0] <= 0 <= interval[1]:
        return "no difference shown"
    return "higher" if interval[0] > 0 else "lower"
