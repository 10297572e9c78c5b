"""Which trainings reach the same accuracy: tests of equivalence, paired by seed.

That no difference shows is no proof of sameness: with few seeds none would. So equivalence is what
is tested: two one-sided tests (Schuirmann, 1987) ask whether the mean difference is certainly above
-margin and certainly below +margin. All pairs are judged at once with Holm's correction (1979).
"""

from bisect import bisect_left
from collections import OrderedDict
from itertools import combinations

import numpy as np
from scipy import stats

from common.run import results

LEVEL = 0.05  # of all pairs together
MOST = 1000  # seeds; beyond them no number is named
EQUIVALENT, DIFFERENT, UNDECIDED = "equivalent", "different", "undecided"


def verdicts(accuracies, margin, images):
    """[a dict of JSON values for each pair], in the order of the names.

    accuracies: {name: {seed: from 0 to 1}}, each of so many ``images``. margin: percentage points.
    Pairs that share fewer than two seeds are left out.
    """
    # Accuracies are counts: two may be equal though the networks are not. So no spread is taken to
    # be smaller than that of rounding both to whole images.
    least = np.sqrt(2) * 100 * results.rounding(images)
    pairs = []
    for first, second in combinations(accuracies, 2):
        seeds = sorted(set(accuracies[first]) & set(accuracies[second]), key=int)
        if len(seeds) > 1:
            points = [100 * (accuracies[first][s] - accuracies[second][s]) for s in seeds]
            pairs.append(_pair(first, second, points, margin, least))
    for test in ("equivalence", "difference") if pairs else ():
        for pair, p in zip(pairs, holm([pair["p"][test] for pair in pairs])):
            pair["p_corrected"][test] = p
    for pair in pairs:
        pair["verdict"] = verdict(pair["p_corrected"])
        if pair["verdict"] == UNDECIDED:
            spread = max(least, np.std(pair["points"], ddof=1))
            pair["seeds_needed"] = needed(pair["mean"], spread, margin, len(pairs))
    return pairs


def _pair(first, second, points, margin, least):
    mean, spread = float(np.mean(points)), max(least, float(np.std(points, ddof=1)))
    half = stats.t.ppf(1 - LEVEL, len(points) - 1) * spread / np.sqrt(len(points))
    return OrderedDict(
        first=first,
        second=second,
        points=points,
        mean=mean,
        interval=[mean - half, mean + half],  # 90%: inside the margin if the uncorrected test is
        p=OrderedDict(
            equivalence=equivalence(mean, spread, len(points), margin),
            difference=difference(mean, spread, len(points)),
        ),
        p_corrected=OrderedDict(),
    )


def holm(p):
    """Holm's corrected p of several tests: the smallest counts for all, the next for one less."""
    corrected, reached = [0.0] * len(p), 0.0
    for rank, place in enumerate(np.argsort(p)):
        reached = max(reached, min(1.0, (len(p) - rank) * p[place]))
        corrected[place] = reached
    return corrected


def equivalence(mean, spread, n, margin):
    """The larger p of the two one-sided tests that the mean difference is within +-margin."""
    return max(_above(mean + margin, spread, n), _above(margin - mean, spread, n))


def _above(distance, spread, n):
    """The p of Student's test that a mean is above a bound, from its distance to the bound."""
    return float(stats.t.sf(distance / (spread / np.sqrt(n)), n - 1))


def difference(mean, spread, n):
    """The p of Student's paired test that the mean difference is not 0."""
    return min(1.0, 2 * _above(abs(mean), spread, n))


def verdict(p):
    """From both corrected p. A difference that is shown, but within the margin, is equivalent."""
    if p["equivalence"] < LEVEL:
        return EQUIVALENT
    return DIFFERENT if p["difference"] < LEVEL else UNDECIDED


def needed(mean, spread, margin, pairs):
    """How many seeds decide a pair if mean and spread stay as they are; None above ``MOST``.

    The level is that of the strictest of Holm's steps.
    """

    def decides(n):
        return min(equivalence(mean, spread, n, margin), difference(mean, spread, n)) < (
            LEVEL / pairs
        )

    n = bisect_left(range(MOST + 1), True, lo=2, key=decides)
    return n if n <= MOST else None
