"""Which array of B should be which of A, if they do not agree: by name, shape and place."""

import numpy as np

from common.compare.relations import Comparison

TRIED = 12  # arrays on either side that are compared with each other


def form(array):
    """The shape whatever the order of its axes."""
    return tuple(sorted(array.values.shape))


def by_name(recordings, ours, theirs):
    """Pairs of places with the same name; the longest list that is in both recordings' order."""
    places = set(theirs)
    pairs = [(i, recordings.named[i]) for i in ours if recordings.named.get(i) in places]
    best = []  # best[n]: the longest list that ends in pair n
    for n, (_, j) in enumerate(pairs):
        before = [best[k] for k in range(n) if pairs[k][1] < j]
        best.append(max(before, key=len, default=[]) + [pairs[n]])
    return max(best, key=len, default=[])


def by_shape(recordings, ours, theirs, before):
    """Pairs of places with the same shape, in both recordings' order, as many as there can be.

    Of several such lists, the one whose arrays are most alike.
    """
    worth = np.zeros((len(ours) + 1, len(theirs) + 1))
    score = {}
    for n in reversed(range(len(ours))):
        for m in reversed(range(len(theirs))):
            score[n, m] = _alike(recordings, ours[n], theirs[m], before, n < TRIED and m < TRIED)
            worth[n, m] = max(worth[n + 1, m], worth[n, m + 1], worth[n + 1, m + 1] + score[n, m])
    pairs, n, m = [], 0, 0
    while n < len(ours) and m < len(theirs):
        if score[n, m] and worth[n, m] == worth[n + 1, m + 1] + score[n, m]:
            pairs.append((ours[n], theirs[m]))
            n, m = n + 1, m + 1
        elif worth[n, m] == worth[n + 1, m]:
            n += 1
        else:
            m += 1
    return pairs


def _alike(recordings, i, j, before, closely):
    """How well two arrays go together: 0 if their shapes differ, else 1 to 2."""
    a, b = recordings.a[i], recordings.b[j]
    if form(a) != form(b) or (a.dtype.kind == "f") != (b.dtype.kind == "f"):
        return 0
    if not (closely and a.finite and b.finite and a.spread and b.spread):
        return 1
    comparison = Comparison(a, b, recordings.tolerance, recordings.layouts(before))
    return 1 + 0.5 * abs(comparison.nearest()[1])


def matched(recordings, ours, theirs, before):
    """[(place in A, place in B, by)] of arrays that should be the same, in order."""
    named = by_name(recordings, ours, theirs)
    pairs = [(i, j, "name") for i, j in named]
    ends = [(-1, -1)] + named + [(len(recordings.a), len(recordings.b))]
    taken = set(recordings.named), set(recordings.named.values())
    for start, end in zip(ends, ends[1:]):
        between = (
            [i for i in ours if start[0] < i < end[0] and i not in taken[0]],
            [j for j in theirs if start[1] < j < end[1] and j not in taken[1]],
        )
        pairs += [(i, j, "place") for i, j in by_shape(recordings, between[0], between[1], before)]
    return sorted(pairs)
