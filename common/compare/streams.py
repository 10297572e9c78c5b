"""Branches that B computes in another order than A, such as an image's and a text's.

Recordings are compared in the order of computation. So B's arrays are put into A's order, if that
pairs more of them: those that agree, and those that are more like each other than like any other.
The rest stay beside those that they are beside in B.
"""

import numpy as np

from common.compare.layouts import correlations

LEAST = 2  # arrays that agree, but not in both recordings' order
ALIKE = 0.5  # the least correlation of counterparts
MOST = 256  # arrays without a counterpart whose nearest ones are sought


def order(recordings):
    """The places of B's arrays in A's order; None to leave them as they are.

    Steps of training are left: their arrays belong together by name. So are the network's results,
    such as a cache of keys, that one side recorded when it returned them.
    """
    if any(moment for side in recordings.moments for moment in side):
        return None
    crossing = [(i, j) for i, j in recordings.crossing() if not _returned(recordings, i, j)]
    if sum(not recordings.repeats(i, j) for i, j in crossing) < LEAST:
        return None
    pairs = [pair[:2] for pair in recordings.pairs] + crossing + list(_nearest(recordings))
    found = {j: i for i, j in pairs}
    return _sorted(found, len(recordings.a), len(recordings.b))


def _returned(recordings, i, j):
    return recordings.outputs[0][i] or recordings.outputs[1][j]


def _sorted(found, count, length):
    """B's places by the place in A of each one's counterpart.

    One without stays before the next one that has one, or at the end; but if that has an earlier
    place in A than the one before, it belongs to another branch.
    """
    following, keys = count, []
    for j in reversed(range(length)):
        before = next((found[k] for k in range(j - 1, -1, -1) if k in found), -1)
        following = found.get(j, following)
        key = 2 * following - (j not in found)
        keys.append((key if following > before or j in found else 2 * before + 1, j))
    return [j for _, j in sorted(keys)]


def _nearest(recordings):
    """Yield (place in A, place in B) of new arrays that are each other's best match."""
    a = recordings.only_in_a(range(len(recordings.a)))[:MOST]
    b = recordings.only_in_b(range(len(recordings.b)))[:MOST]
    alike = np.zeros((len(a) + 1, len(b) + 1))
    for n, i in enumerate(a):
        for m, j in enumerate(b):
            x, y = recordings.a[i], recordings.b[j]
            if x.size == y.size and x.spread and y.spread and x.finite and y.finite:
                layouts = list(recordings.usual_layouts(x, y))
                alike[n, m] = max(correlations(x, y, layouts), default=0)
    for n, i in enumerate(a):
        m = int(alike[n].argmax())
        if alike[n, m] >= ALIKE and alike[:, m].argmax() == n:
            yield i, b[m]
