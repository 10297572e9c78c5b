"""What trainings of the same seeds show: mean differences of accuracy, and their intervals."""

import numpy as np

from common.bench import compare


def interval(mean, error, freedom):
    """[low, high] of 95% by Student's t, of a mean's standard error and degrees of freedom."""
    half = compare.T.get(freedom, compare.T_MORE) * float(error)
    return [mean - half, mean + half]


def student(values):
    """(mean, [low, high] of 95%) of values alone; no interval, None, of a single value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return mean, interval(mean, error, len(values) - 1)


def residual(trained):
    """What chance does to an accuracy: (standard deviation in percentage points, its freedom).

    trained: {switch: {seed: {"accuracy": from 0 to 1}}}, the plain trainings among them. An
    accuracy is taken as the sum of what its switch does, what its seed does, and chance, which
    spreads all alike: randomised blocks (Fisher, 1935). So all trainings of a study tell how wide
    each interval is; two or three seeds of one switch alone would hardly. None where two seeds of
    two kinds of training are missing.
    """
    cells = [(key, seed) for key, seeds in trained.items() for seed in seeds]
    effects = sorted({("switch", key) for key, _ in cells} | {("seed", seed) for _, seed in cells})
    rows = [[one in (("switch", key), ("seed", seed)) for one in effects] for key, seed in cells]
    design = np.array(rows, float)
    points = np.array([100 * trained[key][seed]["accuracy"] for key, seed in cells])
    fitted, _, rank, _ = np.linalg.lstsq(design, points, rcond=1e-9)
    freedom = len(cells) - int(rank)
    if freedom == 0:
        return None
    return float(np.sqrt(np.sum((points - design @ fitted) ** 2) / freedom)), freedom


def paired(plain, thrown, chance=None):
    """The difference in percentage points, over the seeds that both have: a dict of JSON values.

    plain, thrown: {seed: {"accuracy": from 0 to 1}}. None where they share fewer than two.
    chance: of ``residual``; without it the interval is that of these differences alone.
    """
    seeds = sorted(set(plain) & set(thrown), key=int)
    if len(seeds) < 2:
        return None
    points = [100 * (thrown[seed]["accuracy"] - plain[seed]["accuracy"]) for seed in seeds]
    mean, within = student(points)
    if chance is not None:
        deviation, freedom = chance
        within = interval(mean, deviation * np.sqrt(2 / len(points)), freedom)
    return {"mean": mean, "interval": within, "points": points, "verdict": verdict(within)}


def verdict(interval):
    """In words: "lower", "higher", or "no difference shown" where the interval holds 0."""
    if interval[0] <= 0 <= interval[1]:
        return "no difference shown"
    return "higher" if interval[0] > 0 else "lower"
