"""Matches arrays of A and B that differ but should be the same: by name, scope, shape and place."""

import numpy as np

from common.compare import names
from common.compare.layouts import correlations
from common.compare.relations import Comparison

TRIED = 12  # arrays on either side that are compared in all layouts; the others in usual ones
CHANCE = 0.2  # a correlation that unrelated arrays may have


def form(array):
    """The shape, in any order of axes."""
    return tuple(sorted(array.values.shape))


def by_name(recordings, ours, theirs):
    """Pairs of places with the same name; the longest list that is in both recordings' order."""
    places = set(theirs)
    pairs = [(i, recordings.named[i]) for i in ours if recordings.named.get(i) in places]
    return in_order(pairs)


def by_scope(recordings, ours, theirs, ordered=True):
    """Pairs of places of modules and the last operation in their scopes.

    ordered: only the longest list that is in both recordings' order.
    """
    sides = tuple(recordings.a[i].name for i in ours), tuple(recordings.b[j].name for j in theirs)
    pairs = {}
    for turned in (False, True):
        for n, inside in names.scopes(*(sides[::-1] if turned else sides)).items():
            places = [(k, n) if turned else (n, k) for k in inside]
            places = [(ours[i], theirs[j]) for i, j in places]
            fitting = [pair for pair in places if may_be(recordings, *pair)]
            if fitting and fitting[-1] == _last(recordings, places):
                pairs.setdefault(_first_equal(recordings, fitting[-1][0], ours), fitting[-1][1])
    return in_order(sorted(pairs.items())) if ordered else sorted(pairs.items())


def _first_equal(recordings, i, ours):
    """The first of consecutive arrays of A with the same values: the last part of a module."""
    arrays = recordings.a
    while i - 1 in ours and arrays[i - 1].shape == arrays[i].shape:
        if not np.array_equal(arrays[i - 1].values, arrays[i].values):
            break
        i -= 1
    return i


def may_be(recordings, i, j):
    """Whether two arrays have the same axes, in any order, and both numbers or neither."""
    a, b = recordings.a[i], recordings.b[j]
    if a.size != b.size:
        return False
    return form(a) == form(b) and (a.dtype.kind == "f") == (b.dtype.kind == "f")


def _last(recordings, places):
    """The pair of the last operation of a scope that is as large as the module's result."""
    sizes = [(recordings.a[i].size, recordings.b[j].size) for i, j in places]
    return next((pair for pair, (m, n) in zip(places[::-1], sizes[::-1]) if m == n), None)


def in_order(pairs):
    """The longest list of pairs that is in both recordings' order."""
    theirs = np.array([j for _, j in pairs])
    length = np.ones(len(pairs), int)  # of the longest list that ends in a pair
    before = [None] * len(pairs)  # the pair before it in this list
    for n in range(1, len(pairs)):
        lengths = np.where(theirs[:n] < theirs[n], length[:n], 0)
        if lengths.any():
            before[n], length[n] = int(lengths.argmax()), lengths.max() + 1
    found, n = [], int(length.argmax()) if pairs else None
    while n is not None:
        found.append(pairs[n])
        n = before[n]
    return found[::-1]


def by_shape(recordings, ours, theirs, before):
    """Pairs of places with the same shape, in both recordings' order, as many as there can be.

    Of several such lists, the one whose arrays are most alike.
    """
    worth = np.zeros((len(ours) + 1, len(theirs) + 1))
    score, likely = np.zeros((len(ours), len(theirs))), recordings.layouts(before)
    for n in reversed(range(len(ours))):
        for m in reversed(range(len(theirs))):
            closely = n < TRIED and m < TRIED
            score[n, m] = _alike(recordings, ours[n], theirs[m], likely, closely)
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


def _alike(recordings, i, j, likely, closely):
    """How well two arrays go together: 0 if their shapes differ, else 1 to 1.5."""
    a, b = recordings.a[i], recordings.b[j]
    if not may_be(recordings, i, j):
        return 0
    if not (a.finite and b.finite and a.spread and b.spread):
        return 1
    if closely:
        alike = abs(Comparison(a, b, recordings.tolerance, likely).nearest()[1])
    else:
        alike = max(correlations(a, b, list(recordings.usual_layouts(a, b))), default=0)
    return 1 + 0.5 * alike * (alike > CHANCE)


def matched(recordings, ours, theirs, before):
    """[(place in A, place in B, by)] of arrays that should be the same, in order."""
    named = by_name(recordings, ours, theirs)
    pairs = [(i, j, "name") for i, j in named]
    taken = set(recordings.named), set(recordings.named.values())
    for start, end in _between(recordings, named):
        new = (
            recordings.only_in_a(i for i in ours if start[0] < i < end[0] and i not in taken[0]),
            recordings.only_in_b(j for j in theirs if start[1] < j < end[1] and j not in taken[1]),
        )
        pairs += [(i, j, "place") for i, j in by_scope(recordings, *new)]
    for start, end in _between(recordings, sorted(pair[:2] for pair in pairs)):
        between = (
            [i for i in ours if start[0] < i < end[0] and i not in taken[0]],
            [j for j in theirs if start[1] < j < end[1] and j not in taken[1]],
        )
        pairs += [(i, j, "place") for i, j in by_shape(recordings, between[0], between[1], before)]
    return sorted(pairs)


def _between(recordings, pairs):
    """[(pair, next pair)], beginning before both recordings and ending after them."""
    ends = [(-1, -1)] + pairs + [(len(recordings.a), len(recordings.b))]
    return list(zip(ends, ends[1:]))
