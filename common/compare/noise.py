"""Whether a difference is noise, as rounding makes it, or follows from the values."""

import numpy as np

LOOKED_AT = 2**16
BINS = 16
EXPLAINED = 0.15  # of the difference's square: more than chance leaves to a function of the values
NEAR = (0.02, 0.16)  # the share of a noise that is below a tenth of its size: 0.08 if it is normal


def looks_like_rounding(values, others):
    """Whether two arrays differ by noise in all places, whatever the value and the row."""
    off = np.subtract(others, values, dtype=np.float64)
    size = np.sqrt((off**2).mean())
    if off.size < 256 or not size or not NEAR[0] <= (np.abs(off) < 0.1 * size).mean() <= NEAR[1]:
        return False
    if any(_by_place(off, values, axis) for axis in range(off.ndim)):
        return False
    step = 1 + off.size // LOOKED_AT
    return not _by_value(off.reshape(-1)[::step], values.reshape(-1)[::step])


def _by_value(off, values):
    """Whether a function of the value explains part of the difference."""
    order = np.argsort(values, kind="stable")
    squares = sum(len(part) * part.mean() ** 2 for part in np.array_split(off[order], BINS))
    return squares > (EXPLAINED + 2.0 * BINS / len(off)) * (off**2).sum()


def _by_place(off, values, axis):
    """Whether each place on an axis has its own shift or factor."""
    off, values = (np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in (off, values))
    count = off.shape[1]
    if count < 4:
        return False
    values = values - values.mean(1, keepdims=True, dtype=np.float64)
    shift = count * off.mean(1) ** 2
    norm = (values**2).sum(1)
    slope = (off * values).sum(1) ** 2 / np.where(norm, norm, 1)
    return (shift + slope).sum() > (EXPLAINED + 4.0 / count) * (off**2).sum()
