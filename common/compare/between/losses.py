"""Cross-entropies: which rows count, the divisor and the smoothing; from the scores' gradient."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.functions import softmax
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, number, size


def explain(both):
    """An ``Explanation`` if later gradients of the same scores show different losses."""
    if both.a.output.size > 1 and both.a.output.shape != both.b.output.shape:
        return None
    for x in both.inputs[:3]:
        if len(x.shape) != 2 or x.shape[1] < 3:
            continue
        p = softmax(full(x).astype(np.float64), 1)
        says = [_described(layer, x, p) for layer in (both.a, both.b)]
        if None not in says and says[0] != says[1]:
            words = "the loss: %s in A; %s in B" % tuple(says)
            return Explanation(words, pages.MEAN)
    return None


def _described(layer, x, p):
    """A side's loss in words, from the first later array that is a gradient of these scores."""
    for array in layer.arrays[layer.place :]:
        if array.shape == x.shape and array.finite and array.spread:
            d = full(array).astype(np.float64)
            if size(d.sum(1)) < 1e-4 * size(d) * np.sqrt(d.shape[1]):
                return described(d, p)
    return None


def described(d, p):
    """The loss in words, from the scores' gradient d and probabilities p; None if unknown."""
    silent = np.abs(d).max(1) < 1e-9 * np.abs(d).max()
    plain, smoothed = [], []
    for row, (gradient, chances) in enumerate(zip(d, p)):
        if silent[row]:
            continue
        whole = _line(chances, gradient)
        if whole is not None:
            smoothed.append(whole)
            continue
        rest = np.arange(len(gradient)) != gradient.argmin()
        line = _line(chances[rest], gradient[rest])
        if line is None:
            return None
        plain.append(line)
    if not plain:
        return None
    slope, start = np.median(plain, 0)
    rows, smoothing = len(d), -start * p.shape[1] / slope
    divisor = 1 / slope
    says = "a cross-entropy of %d of %d rows, divided by %s" % (
        len(plain),
        rows,
        number(float("%.4g" % divisor)),
    )
    if smoothing > 1e-3:
        says += ", label smoothing %s" % number(float("%.3g" % smoothing))
    if smoothed:
        says += ", whose uniform part counts in %d further rows" % len(smoothed)
    return says


def _line(x, y):
    """(slope, start) of a line through the points; None if they are on none."""
    slope, start = np.polyfit(x, y, 1)
    left = size(y - slope * x - start)
    return (slope, start) if left < 1e-4 * size(y) + 1e-9 and slope > 0 else None
