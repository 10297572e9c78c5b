"""Channels with another factor: a BatchNorm with another epsilon or other running statistics."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, number, size
from common.compare.layers.normalisation import SAME, epsilons_apart

LEAST = 16  # values of each channel
LARGEST = 0.05  # epsilon
SPREAD = 1e-3  # of the channels' factors


def explain(both):
    """An ``Explanation`` if each channel of both is the same input times a number, plus another."""
    for x in both.inputs[:3] + both.alone:
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
    if any(_scaled(x, y, both.noise) for y in (ours, theirs)):
        return None  # one side leaves it out
    ratio = factors(x, ours, theirs, both.noise)
    return None if ratio is None else _reason(ratio, x.var(1), ours, theirs)


def _scaled(x, y, noise):
    """Whether y is x, times one number."""
    slope = (x * y).sum() / max((x**2).sum(), 1e-300)
    return size(y - slope * x) <= noise


def slopes_of(centred, y):
    """Each row's factor from x, whose rows are centred, to y."""
    return (centred * y).sum(1) / (centred**2).sum(1)


def factors(x, ours, theirs, noise):
    """For each row, B's factor divided by A's.

    None unless both are the row of x times a number, plus another, and the factors differ.
    """
    if len(x) < 2 or x.shape[1] < LEAST or not x.var(1).all():
        return None
    centred = x - x.mean(1, keepdims=True)
    slopes = []
    for y in (ours, theirs):
        slope = slopes_of(centred, y)
        if size(y - y.mean(1, keepdims=True) - slope[:, None] * centred) > 4 * noise:
            return None
        slopes.append(slope)
    ratio = slopes[1] / np.where(slopes[0], slopes[0], np.nan)
    if not np.isfinite(ratio).all() or (ratio <= 0).any() or np.abs(ratio - 1).max() < 1e-6:
        return None
    # One number for all channels is not a statistic.
    return ratio if np.ptp(ratio) > SPREAD * np.abs(ratio - 1).max() else None


def _reason(ratio, variance, ours, theirs):
    """The ``Explanation`` that fits the channels' factors."""
    gain = (ratio**-2 - 1) * variance  # the epsilons' difference, if this is the norm's variance
    larger = (ratio < 1).all()
    if size(ours.mean(1) - theirs.mean(1)) < 1e-4 * size(ours.std(1)):
        more, unsure = gain.mean(), max(SAME, gain.std() / abs(gain.mean()))
        if unsure < 0.05:
            return Explanation("BatchNorm, " + epsilons_apart(more, unsure), pages.EPSILON)
    ends = "from %s to %s" % tuple(number(float("%.6g" % n)) for n in (ratio.min(), ratio.max()))
    if (larger or (ratio > 1).all()) and abs(np.median(gain)) < LARGEST:
        side = "B" if larger else "A"
        says = "BatchNorm, %s's epsilon or running variance is larger: " % side
        says += "each channel's factor in B is A's times a number %s; " % ends
        says += "an epsilon larger by about %s would do that"
        return Explanation(says % number(float("%.1g" % abs(np.median(gain)))), pages.EPSILON)
    says = "BatchNorm, other running statistics: each channel has its own factor, %s, and shift"
    return Explanation(says % ends, pages.RUNNING)
