"""Places of scores that are masked: minus infinity, or a value far below all others.

After a softmax this value does not matter, so two recordings may use different ones.
"""

from collections import namedtuple

import numpy as np

LOWEST = -1e4  # the mildest mask in use; float16 does not reach far below it
SHARE = 2**-7  # of a mask, by which bfloat16 may round it
FAR = 50  # a mask is this many times larger than any other value

Mask = namedtuple("Mask", "places value")
Mask.__doc__ = """Which places are masked, and by which value."""


def of(values):
    """The ``Mask`` of an array of floats; None if it has none."""
    if values.dtype.kind != "f" or not values.size:
        return None
    low = values.min()
    if np.isnan(low):
        low = np.nanmin(values) if np.isfinite(values).any() else low
    if not low <= LOWEST:
        return None
    # Beside minus infinity, there may be sums of a mask and the lowest number there is.
    most = np.finfo(values.dtype).min / 4 if np.isinf(low) else low / 2
    with np.errstate(invalid="ignore"):
        places = values < most
        peak = np.nan if places.all() else np.abs(values[~places]).max()
    if not FAR * peak <= abs(low):  # NaN elsewhere is no mask either
        return None
    # One mask plus scores varies as the scores do; other large values are no mask.
    if np.isfinite(low) and np.ptp(values[places]) > 4 * peak + SHARE * abs(low):
        return None
    return Mask(places, float(low))


def filled(values, places):
    """The values with a number at the masked places that scales with the other values."""
    rest = values[~places]
    peak = np.abs(rest).max() if rest.size else values.dtype.type(0)
    values = np.where(places, np.zeros((), values.dtype), values)
    values[places] = -4 * peak if peak else -1
    return values


def words(value):
    """A mask's value as people write it."""
    for name in ("float16", "float32", "float64"):
        if value == float(np.finfo(name).min):
            return "the lowest %s" % name
    return "-inf" if np.isinf(value) else "%.6g" % value
