"""What blocks that were timed in turn show: each contender's speed, and its ratio to another's."""

import numpy as np

SEED = 0
DRAWS = 2000


def ratio(times, baseline):
    """How many times as fast as ``baseline``: (median, [low, high] of 95%).

    times, baseline: for each run an array of seconds per step, a number for each round. What slows
    the machine down for a while slows all of a round, so the ratio is taken round by round. The
    interval is from a bootstrap over runs, and over the rounds of each.
    """
    logs = [np.log(np.divide(two, one)) for one, two in zip(times, baseline)]
    random = np.random.RandomState(SEED)
    medians = []
    for _ in range(DRAWS):
        runs = [logs[number] for number in random.randint(0, len(logs), len(logs))]
        drawn = [run[random.randint(0, len(run), len(run))] for run in runs]
        medians.append(np.median(np.concatenate(drawn)))
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(np.exp(np.median(np.concatenate(logs)))), [float(np.exp(low)), float(np.exp(high))]


def precision(times, baseline):
    """Half the interval's width, as a share of the ratio."""
    value, (low, high) = ratio(times, baseline)
    return (high - low) / 2 / value


def between_runs(times):
    """How far the runs' medians are apart, as a share of the smallest; 0 for one run."""
    medians = [float(np.median(run)) for run in times]
    return max(medians) / min(medians) - 1


def verdict(interval):
    """In words: "faster", "slower", or "no difference shown" where the interval contains 1."""
    low, high = interval
    if low <= 1 <= high:
        return "no difference shown"
    return "faster" if low > 1 else "slower"
