"""Rows of an unrecorded norm: each scaled, as by another epsilon, or a vector added before it."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers import normalisation
from common.compare.layers.layer import size

STEPS = 30
SPAN = 2  # vectors
MANY = 4096  # rows


def explain(both):
    """An ``Explanation`` if B - A = t (A - b): t for each row and b, perhaps 0, for each column.

    Or if a vector was added to each row before the norm.
    """
    if both.ours.ndim < 2 or both.ours.shape[-1] < 8:
        return None
    width = both.ours.shape[-1]
    y, off = (x.reshape(-1, width)[:MANY] for x in (both.ours, both.off))
    if len(y) < 8:
        return None
    return _scaled(both, y, off) or _added(both, y, off + y)


def _scaled(both, y, off):
    """An ``Explanation`` if B - A = t (A - b)."""
    if size(off) > 0.5 * size(y):
        return None
    for shifted in (False, True):
        scale, left = _fit(y, off, shifted)
        if not both.explained(left):
            continue
        if not (scale > 0).all() and not (scale < 0).all():
            return None
        if np.abs(scale).max() < 1.02 * np.abs(scale).min():
            return None  # one number for all rows is no epsilon
        kind = "LayerNorm" if shifted or normalisation.centered(y) else "RMSNorm"
        more = "smaller" if scale.mean() > 0 else "larger"
        says = "each row is scaled by its own number, as by another epsilon in a %s: " % kind
        return Explanation(says + "B's is %s" % more, pages.EPSILON)
    return None


def _added(both, ours, theirs):
    """One if B = t A + u b + v c: b is the norm's shift, and c was added to all rows before it."""
    if both.explained(_without_line(theirs, ours)):
        return None  # a factor and a shift for each row suffice
    known = np.linalg.svd(ours, full_matrices=False)[1]
    if len(known) < 3 * SPAN or known[SPAN + 1 :].max() < 0.01 * known[0]:
        return None  # the rows are so alike that anything fits
    t = (ours * theirs).sum(1) / np.maximum((ours**2).sum(1), 1e-300)
    for _ in range(STEPS):
        two = np.linalg.svd(theirs - t[:, None] * ours, full_matrices=False)[2][:SPAN]
        a, b = (x - np.dot(np.dot(x, two.T), two) for x in (ours, theirs))
        before, t = t, (a * b).sum(1) / np.maximum((a**2).sum(1), 1e-300)
        if np.abs(t - before).max() < 1e-9:
            break
    if not both.explained(b - t[:, None] * a) or np.ptp(t) < 1e-3 * np.abs(t).max():
        return None
    says = "the same vector is added to all rows before a norm, on one side only: "
    return Explanation(
        says + "a bias, or another row of a small table, as of token types", pages.WEIGHTS
    )


def _without_line(theirs, ours):
    """What remains of theirs after a factor and a shift for each row of ours."""
    x, y = (rows - rows.mean(1, keepdims=True) for rows in (ours, theirs))
    t = (x * y).sum(1, keepdims=True) / np.maximum((x**2).sum(1, keepdims=True), 1e-300)
    return y - t * x


def _fit(y, off, shifted):
    """(t, the residual) by alternating least squares."""
    center = np.zeros(y.shape[1])
    for _ in range(STEPS if shifted else 1):
        z = y - center
        t = (z * off).sum(1) / np.maximum((z**2).sum(1), 1e-300)
        if shifted:
            center = (t[:, None] * (t[:, None] * y - off)).sum(0) / max((t**2).sum(), 1e-300)
    z = y - center
    t = (z * off).sum(1) / np.maximum((z**2).sum(1), 1e-300)
    return t, off - t[:, None] * z
