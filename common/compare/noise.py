"""Whether a difference is noise, like rounding, or depends on the values."""

import numpy as np

LOOKED_AT = 2**16
LEAST = 256  # values; fewer show nothing
BINS = 16
EXPLAINED = 0.15  # of the difference's square: by chance, a function of the values explains less
NEAR = (0.02, 0.16)  # the share of noise below a tenth of its size: 0.08 if it is normal


def few(values):
    """Whether there are too few values to tell."""
    return np.count_nonzero(values) < LEAST


def looks_like_rounding(values, others):
    """Whether two arrays differ by noise that depends neither on the value nor on the place.

    Places that are 0 in both, as after a ReLU, do not count.
    """
    off = np.subtract(others, values, dtype=np.float64)
    there = (values != 0) | (others != 0)
    if few(values) or not off.any():
        return False
    size = np.sqrt((off[there] ** 2).mean())
    if not NEAR[0] <= (np.abs(off[there]) < 0.1 * size).mean() <= NEAR[1]:
        return False
    if any(_by_place(off, values, there, axis) for axis in range(off.ndim)):
        return False
    step = 1 + off.size // LOOKED_AT
    return not _by_value(off[there][::step], values[there][::step])


def _by_value(off, values):
    """Whether a function of the value explains part of the difference."""
    order = np.argsort(values, kind="stable")
    squares = sum(len(part) * part.mean() ** 2 for part in np.array_split(off[order], BINS))
    return squares > (EXPLAINED + 2.0 * BINS / len(off)) * (off**2).sum()


def _by_place(off, values, there, axis):
    """Whether each place on an axis has its own shift or factor."""
    off, values, there = (
        np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1) for x in (off, values, there)
    )
    count = np.maximum(there.sum(1), 1)
    if count.mean() < 4:
        return False
    mean = values.sum(1, dtype=np.float64) / count
    values = (values - mean[:, None]) * there
    shift = off.sum(1) ** 2 / count
    norm = (values**2).sum(1)
    slope = (off * values).sum(1) ** 2 / np.where(norm, norm, 1)
    return (shift + slope).sum() > (EXPLAINED + 4.0 / count.mean()) * (off**2).sum()
