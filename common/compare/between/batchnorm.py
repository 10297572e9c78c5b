"""Channels with another factor: another epsilon, or other running statistics, of a BatchNorm."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, number, size
from common.compare.layers.normalisation import EPSILONS

LEAST = 16  # values of each channel


def explain(both):
    """Each channel of both is the same input times its own number, plus another."""
    for x in both.inputs[:3]:
        if x.shape != both.ours.shape or both.ours.ndim < 2:
            continue
        for axis in {1, both.ours.ndim - 1}:
            found = _of(both, full(x).astype(np.float64), axis)
            if found is not None:
                return found
    return None


def _of(both, x, axis):
    count = x.shape[axis]
    x, ours, theirs = (
        np.moveaxis(y, axis, 0).reshape(count, -1) for y in (x, both.ours, both.theirs)
    )
    if count < 2 or x.shape[1] < LEAST:
        return None
    variance = x.var(1)
    if not variance.all():
        return None
    centred = x - x.mean(1, keepdims=True)
    slopes = []
    for y in (ours, theirs):
        slope = (centred * y).sum(1) / (centred**2).sum(1)
        left = y - y.mean(1, keepdims=True) - slope[:, None] * centred
        if size(left) > 4 * both.noise:
            return None
        slopes.append(slope)
    ratio = slopes[1] / np.where(slopes[0], slopes[0], np.nan)
    if not np.isfinite(ratio).all() or (ratio <= 0).any() or np.abs(ratio - 1).max() < 1e-6:
        return None
    return _epsilon(ratio, variance, ours, theirs)


def _epsilon(ratio, variance, ours, theirs):
    """Which of the reasons fits the factors of the channels."""
    if size(ours.mean(1) - theirs.mean(1)) < 1e-4 * size(ours.std(1)):
        # Statistics of this batch: 1 / factor**2 - 1 is the epsilons' difference by the variance.
        gain = (ratio**-2 - 1) * variance
        pairs = [
            (abs((b - a) / gain.mean() - 1), a, b) for a in EPSILONS for b in EPSILONS if a != b
        ]
        if gain.std() < 0.05 * abs(gain.mean()):
            close, a, b = min(pairs)
            if close < 0.02:
                says = "BatchNorm, epsilon %s in A, %s in B" % (number(a), number(b))
            else:
                says = "BatchNorm, B's epsilon is A's plus %s" % number(float("%.3g" % gain.mean()))
            return Explanation(says, pages.EPSILON)
    ends = "from %s to %s" % tuple(number(float("%.4g" % n)) for n in (ratio.min(), ratio.max()))
    if (ratio < 1).all() or (ratio > 1).all():
        more = "larger" if (ratio < 1).all() else "smaller"
        says = "each channel's factor in B is A's times a number %s: " % ends
        says += "as by a %s epsilon or running variance in a BatchNorm" % more
    else:
        says = "each channel has its own factor, %s, and shift: " % ends
        says += "as by other running statistics in a BatchNorm"
    return Explanation(says, pages.RUNNING)
