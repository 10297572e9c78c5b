"""Mean differences in accuracy between trainings with the same seeds, and their intervals."""

import numpy as np

from common.bench import compare


def interval(mean, error, freedom):
    """[low, high]: Student's 95% interval, from the standard error and degrees of freedom."""
    half = compare.T.get(freedom, compare.T_MORE) * float(error)
    return [mean - half, mean + half]


def student(values):
    """(mean, 95% interval) of values; the interval is None for a single value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return mean, interval(mean, error, len(values) - 1)


def residual(trained):
    """The effect of chance: (standard deviation in percentage points, degrees of freedom).

    trained: {switch: {seed: {"accuracy": from 0 to 1}}}, including the plain trainings.

    The model is a randomised block design (Fisher, 1935): an accuracy is the sum of an effect of
    its switch, an effect of its seed, and chance with the same spread everywhere. So all trainings
    of a study help to estimate the spread; two or three seeds of one switch would be too few. None
    with fewer than two seeds of two kinds of training.
    """
    cells = [(key, seed) for key, seeds in trained.items() for seed in seeds]
    effects = sorted({("switch", key) for key, _ in cells} | {("seed", seed) for _, seed in cells})
    design = [[effect in (("switch", k), ("seed", s)) for effect in effects] for k, s in cells]
    design = np.array(design, float)
    points = np.array([100 * trained[key][seed]["accuracy"] for key, seed in cells])
    fitted, _, rank, _ = np.linalg.lstsq(design, points, rcond=1e-9)
    freedom = len(cells) - int(rank)
    if freedom == 0:
        return None
    return float(np.sqrt(np.sum((points - design @ fitted) ** 2) / freedom)), freedom


def paired(plain, thrown, chance=None, least=0.0):
    """The difference in percentage points over their common seeds: a dict of JSON values.

    plain, thrown: {seed: {"accuracy": from 0 to 1}}. None if they share fewer than two seeds.
    chance: from ``residual``; without it, these differences alone determine the interval. least:
    the smallest standard deviation that an accuracy may have, in points.
    """
    seeds = sorted(set(plain) & set(thrown), key=int)
    if len(seeds) < 2:
        return None
    points = [100 * (thrown[seed]["accuracy"] - plain[seed]["accuracy"]) for seed in seeds]
    deviation, freedom = chance or (np.std(points, ddof=1) / np.sqrt(2), len(points) - 1)
    mean = float(np.mean(points))
    within = interval(mean, max(deviation, least) * np.sqrt(2 / len(points)), freedom)
    return {"mean": mean, "interval": within, "points": points, "verdict": verdict(within)}


def verdict(interval):
    """ "lower", "higher", or "no difference shown" if the interval contains 0."""
    if interval[0] <= 0 <= interval[1]:
        return "no difference shown"
    return "higher" if interval[0] > 0 else "lower"
