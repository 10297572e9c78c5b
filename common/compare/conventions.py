"""Differences that right ports may have, because their frameworks do not leave the choice."""

from common.compare.layers import search, statistics
from common.compare.layers.layer import Layer, full
from common.compare.layouts import Agreement, plain


def accept(recordings, difference):
    """Accept what follows from the divisor of a running variance; what was accepted, in words.

    Some divide the batch's sum of squares by its count, some by one less. None if that is not it.
    """
    i, j = difference["a_place"], difference["b_place"]
    fits = [search.fit(Layer(*side)) for side in ((recordings.a, i), (recordings.b, j))]
    if None in fits or any(fit.family is not statistics for fit in fits):
        return None
    if not statistics.is_convention(*fits):
        return None
    gain = 1 / (fits[0].case.count - 1.0)
    for k in range(i, len(recordings.a)):
        for m in range(j, len(recordings.b)):
            if recordings.named.get(k) == m and not recordings.agreement(k, m):
                _accept_within(recordings, k, m, gain)
    recordings.pairs = recordings.aligned()
    kinds = tuple(fit.constants["kind"] for fit in fits)
    return "a running %s in A, a running %s in B" % kinds


def _accept_within(recordings, k, m, gain):
    """Accept two arrays whose difference is no larger than the divisor makes it."""
    a, b = recordings.a[k], recordings.b[m]
    if not (a.finite and b.finite) or a.size != b.size:
        return
    for layout in [plain(a)] if a.shape == b.shape else recordings.usual_layouts(a, b):
        off = float(abs(layout.apply(a.values, b.values.shape) - b.values).max())
        peak = float(abs(full(a)).max())
        if off <= 1.01 * gain * peak:
            recordings.agreements[k, m] = Agreement(layout, off, True)
            return
