"""Rows that are scaled, each by its own number: another epsilon in a norm that is not recorded."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import size

STEPS = 30
MANY = 4096  # rows


def explain(both):
    """B - A = t (A - b) with a number t for each row and b for each column, b perhaps 0."""
    if both.ours.ndim < 2 or both.ours.shape[-1] < 8:
        return None
    width = both.ours.shape[-1]
    y, off = (x.reshape(-1, width)[:MANY] for x in (both.ours, both.off))
    if len(y) < 8 or size(off) > 0.5 * size(y):
        return None
    for shifted in (False, True):
        scale, left = _fit(y, off, shifted)
        if not both.explained(left):
            continue
        if not (scale > 0).all() and not (scale < 0).all():
            return None
        if np.abs(scale).max() < 1.02 * np.abs(scale).min():
            return None  # one number for all rows is no epsilon
        kind = "LayerNorm" if shifted else "RMSNorm"
        more = "smaller" if scale.mean() > 0 else "larger"
        says = "each row is scaled by its own number, as by another epsilon in a %s: " % kind
        return Explanation(says + "B's is %s" % more, pages.EPSILON)
    return None


def _fit(y, off, shifted):
    """(numbers t, what is left) by alternating least squares."""
    center = np.zeros(y.shape[1])
    for _ in range(STEPS if shifted else 1):
        z = y - center
        t = (z * off).sum(1) / np.maximum((z**2).sum(1), 1e-300)
        if shifted:
            center = (t[:, None] * (t[:, None] * y - off)).sum(0) / max((t**2).sum(), 1e-300)
    z = y - center
    t = (z * off).sum(1) / np.maximum((z**2).sum(1), 1e-300)
    return t, off - t[:, None] * z
