"""What blocks that were timed in turn show: each contender's ratio to another, and its interval."""

import numpy as np

SEED = 0
DRAWS = 2000
# Student's t for a 95% interval of the mean of so many runs.
T = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}


def medians(times, baseline):
    """Each run's median log ratio: how much faster ``times`` are than ``baseline``'s.

    times, baseline: for each run the seconds per step of each round. What slows the machine down
    for a while slows all of a round, so the ratio is taken round by round.
    """
    return np.array([np.median(log) for log in logs(times, baseline)])


def logs(times, baseline):
    """The logarithms of the ratios, an array for each run."""
    return [np.log(np.divide(theirs, ours)) for ours, theirs in zip(times, baseline)]


def ratio(times, baseline):
    """How many times as fast as ``baseline``: (ratio, [low, high] of 95%).

    Within a run the interval is a bootstrap's, over rounds. Two processes of one program are not
    equally fast, so of several runs it is at least Student's, of the runs' medians; of a single run
    it does not hold what another start would change.
    """
    random = np.random.RandomState(SEED)
    drawn = [
        np.median(run[random.randint(0, len(run), (DRAWS, len(run)))], 1)
        for run in logs(times, baseline)
    ]
    centres = medians(times, baseline)
    centre = centres.mean()
    low, high = np.percentile(np.mean(drawn, 0), [2.5, 97.5])
    if len(centres) > 1:
        half = T.get(len(centres), 2.26) * centres.std(ddof=1) / np.sqrt(len(centres))
        low, high = min(low, centre - half), max(high, centre + half)
    return float(np.exp(centre)), [float(np.exp(low)), float(np.exp(high))]


def precision(times, baseline):
    """Half the interval's width, as a share of the ratio."""
    value, (low, high) = ratio(times, baseline)
    return (high - low) / 2 / value


def within_runs(times, baseline):
    """The distance of the quartiles of the rounds' ratios, the mean over runs."""
    quartiles = [np.percentile(log, [25, 75]) for log in logs(times, baseline)]
    return float(np.mean([high - low for low, high in quartiles]))


def between_runs(times, baseline):
    """How far the runs' ratios are apart; 0 for one run."""
    return float(np.ptp(medians(times, baseline)))


def verdict(interval):
    """In words: "faster", "slower", or "no difference shown" where the interval contains 1."""
    low, high = interval
    if low <= 1 <= high:
        return "no difference shown"
    return "faster" if low > 1 else "slower"
