"""Ratios of speed, and their intervals, from blocks that were timed in turn."""

import numpy as np

SEED = 0
DRAWS = 2000
# Student's t for a 95% interval, by degrees of freedom.
T = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23}
T.update({11: 2.20, 12: 2.18, 13: 2.16, 14: 2.14, 15: 2.13, 16: 2.12, 17: 2.11, 18: 2.10, 19: 2.09})
T_MORE = 2.09  # for 20 degrees; for more, the true value is smaller


def medians(logs):
    """Each run's median."""
    return np.array([np.median(run) for run in logs])


def logs(times, baseline):
    """Each run's log ratios of speed, round by round, relative to ``baseline``.

    times, baseline: for each run, the seconds per step of each round. A machine that slows down for
    a while does so for the whole round, so ratios are taken within rounds.
    """
    return [np.log(np.divide(theirs, ours)) for ours, theirs in zip(times, baseline)]


def drawn(logs, random):
    """Bootstrap draws, over rounds, of the mean of the runs' medians."""
    draws = [np.median(run[random.randint(0, len(run), (DRAWS, len(run)))], 1) for run in logs]
    return np.mean(draws, 0)


def squared_error(logs):
    """The squared standard error of the mean of the runs' medians; 0 for a single run."""
    return medians(logs).var(ddof=1) / len(logs) if len(logs) > 1 else 0.0


def widened(draws, centre, error, freedom):
    """(ratio, 95% interval) from log ratios: the bootstrap's interval, at least Student's.

    Two processes of the same program are not equally fast, so the spread of rounds is not enough:
    Student's interval covers the spread of runs. With a single run it does not.
    """
    low, high = np.percentile(draws, [2.5, 97.5])
    half = T.get(int(freedom), T_MORE) * np.sqrt(error)
    low, high = min(low, centre - half), max(high, centre + half)
    return float(np.exp(centre)), [float(np.exp(low)), float(np.exp(high))]


def ratio(times, baseline):
    """How many times as fast as ``baseline``, timed in the same rounds: (ratio, [low, high])."""
    ratios = logs(times, baseline)
    draws = drawn(ratios, np.random.RandomState(SEED))
    return widened(draws, medians(ratios).mean(), squared_error(ratios), len(ratios) - 1)


def change(now, before):
    """How many times as fast ``now`` is as ``before``: (ratio, [low, high]).

    now, before: for each run, the log speed of each round. The rounds are not the same, so both
    spreads count (Welch, 1947). If one side has a single run, its runs are taken to spread as the
    other's.
    """
    random = np.random.RandomState(SEED)
    draws = drawn(now, random) - drawn(before, random)
    most = max(now, before, key=len)
    sides = [(side if len(side) > 1 else most, len(side)) for side in (now, before)]
    errors = [squared_error(known) * len(known) / count for known, count in sides]
    degrees = [max(len(known) - 1, 1) for known, _ in sides]
    parts = sum(error**2 / number for error, number in zip(errors, degrees))
    freedom = sum(errors) ** 2 / parts if parts else 1
    if min(len(now), len(before)) == 1:  # both errors are one estimate
        freedom = max(len(most) - 1, 1)
    centre = medians(now).mean() - medians(before).mean()
    return widened(draws, centre, sum(errors), freedom)


def precision(times, baseline):
    """Half the interval's width, as a share of the ratio."""
    value, (low, high) = ratio(times, baseline)
    return (high - low) / 2 / value


def within_runs(times, baseline):
    """The interquartile range of the rounds' ratios, averaged over runs."""
    quartiles = [np.percentile(run, [25, 75]) for run in logs(times, baseline)]
    return float(np.mean([high - low for low, high in quartiles]))


def between_runs(times, baseline):
    """The range of the runs' log ratios; 0 for one run."""
    return float(np.ptp(medians(logs(times, baseline))))


def verdict(interval):
    """ "faster", "slower", or "no difference shown" if the interval contains 1."""
    low, high = interval
    if low <= 1 <= high:
        return "no difference shown"
    return "faster" if low > 1 else "slower"
