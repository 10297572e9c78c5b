"""Differences that right ports may have, because their frameworks leave them no choice.

For a running variance, some frameworks divide the sum of squares by the batch's count n, others by
n - 1.
"""

import numpy as np

from common.compare.arrays import apart
from common.compare.between import batchnorm
from common.compare.counterparts import matched
from common.compare.layers import search, statistics
from common.compare.layers.layer import Layer, full
from common.compare.layouts import Agreement, plain
from common.compare.optimizers import running, steps

GROWTH = 3  # a layer's result may be this many times as far apart as its input
SPREAD = 0.05  # of variances' logarithms; with less, divisor and epsilon look alike


def accept(recordings, difference):
    """Accept differences that the divisor of a running variance explains; the result in words.

    None if there are none.
    """
    if steps.kind(difference["a"])[0] == "weight":
        accepted = running.accept(recordings)
        if accepted:
            return accepted
    return _statistics(recordings, difference) or _normalised(recordings, difference)


def _statistics(recordings, difference):
    """Accept them if the running variance itself was recorded; the result in words, or None."""
    i, j = difference["a_place"], difference["b_place"]
    fits = [search.fit(Layer(*side)) for side in ((recordings.a, i), (recordings.b, j))]
    if None in fits or any(fit.family is not statistics for fit in fits):
        return None
    if not statistics.is_convention(*fits):
        return None
    gain, later = 1 / (fits[0].case.count - 1.0), 0
    for k, m in sorted(recordings.named.items()):
        if k >= i and m >= j and not recordings.agreement(k, m):
            if _accept_within(recordings, k, m, gain) and (k, m) != (i, j):
                later += 1
    recordings.pairs = recordings.aligned()
    kinds = tuple(fit.constants["kind"] for fit in fits)
    return "a running %s in A, a running %s in B" % kinds + _and_later(later)


def _and_later(count):
    """Words on the later arrays that were accepted; they could hide a small mistake."""
    return "; %d later arrays may differ for the same reason" % count if count else ""


def _accept_within(recordings, k, m, gain):
    """Accept two arrays if the divisor may explain a difference as large; return whether it may."""
    for layout, a, b in _laid_out(recordings, k, m):
        off = float(abs(a - b).max())
        if off <= 1.01 * gain * float(abs(full(recordings.a[k])).max()):
            recordings.agreements[k, m] = Agreement(layout, off, True)
            return True
    return False


def _laid_out(recordings, k, m):
    """Yield (layout, A's values in it, B's values) of two arrays of the same size."""
    a, b = recordings.a[k], recordings.b[m]
    if a.finite and b.finite and a.size == b.size:
        for layout in [plain(a)] if a.shape == b.shape else recordings.usual_layouts(a, b):
            yield layout, layout.apply(a.values, b.values.shape), b.values


def _normalised(recordings, difference):
    """Accept them if the norm's result was recorded: a channel is off by up to half of 1 / n."""
    i, j = difference["a_place"], difference["b_place"]
    inputs = [pair for pair in recordings.before(i, j) if recordings.a[pair.a].finite]
    for layout, ours, theirs in _laid_out(recordings, i, j):
        for pair in inputs[:-4:-1]:
            x = recordings.a[pair.a]
            if x.shape != recordings.a[i].shape:
                continue
            x = layout.apply(x.values, theirs.shape)
            for axis in {1, theirs.ndim - 1} if theirs.ndim > 1 else ():
                gain = _of_a_divisor(x, ours, theirs, axis, recordings.a[i].epsilon)
                if gain:
                    later = _accept_chain(recordings, i, j, gain) - 1
                    says = "the variance of a batch norm, divided by n or by n - 1"
                    return says + _and_later(later)
    return None


def _of_a_divisor(x, ours, theirs, axis, epsilon):
    """The largest effect of the divisor, if it explains why ours and theirs differ; else None."""
    if x.shape != ours.shape:
        return None
    rows = [np.moveaxis(y, axis, 0).reshape(y.shape[axis], -1) for y in (x, ours, theirs)]
    rows = [row.astype(np.float64) for row in rows]
    ratio = batchnorm.factors(*rows, noise=8 * epsilon * np.sqrt((rows[1] ** 2).mean()))
    if ratio is None:
        return None
    gain = 0.5 / (rows[0].shape[1] - 1)
    excess, variance = np.abs(ratio - 1), np.log(rows[0].var(1))
    alike = (ratio > 1).all() or (ratio < 1).all()
    if not alike or excess.max() > 1.05 * gain or excess.min() < 1e-3 * gain:
        return None
    if len(ratio) < 3 or variance.std() < SPREAD:  # an epsilon would look the same
        return None
    # With a running variance r, the divisor's effect goes with variance / r, an epsilon's with
    # 1 / r. The slopes of the results go with the root of 1 / r, apart from the weights.
    effect = np.polyfit(variance, np.log(excess), 1)[0]
    centred = rows[0] - rows[0].mean(1, keepdims=True)
    slopes = np.abs(batchnorm.slopes_of(centred, rows[1]))
    running = -2 * np.polyfit(variance, np.log(slopes), 1)[0]
    return gain if effect > 0.5 - min(1, max(0, running)) else None


def _accept_chain(recordings, i, j, gain):
    """Accept this pair and later ones, as long as the distance grows no faster than usual.

    Return how many were accepted.
    """
    ours, theirs = range(i, len(recordings.a)), range(j, len(recordings.b))
    before = len(recordings.before(i, j))
    usual, count = gain, 0
    for k, m, _ in matched(recordings, ours, theirs, before):
        if recordings.agreement(k, m):
            continue
        for layout, a, b in _laid_out(recordings, k, m):
            off = apart(a, b)
            if off <= GROWTH * usual * recordings.b[m].spread:
                recordings.agreements[k, m] = Agreement(layout, off, True)
                usual = max(usual, off / recordings.b[m].spread)
                count += 1
                break
        else:
            break
    recordings.pairs = recordings.aligned()
    return count
