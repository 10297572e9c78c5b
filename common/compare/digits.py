"""The precision of a recording's values, which may be lower than that of their type."""

import numpy as np

# (bits of float32 that are 0, the distance from 1 to the next number)
SHORTER = ((16, 2.0**-7), (13, 2.0**-10))
LOOKED_AT = 4096
TELLING = 32  # different values; with fewer, such as labels or zeros, short digits show nothing
SHARE = 0.25  # of a recording's arrays that must be short


def of(values):
    """The relative distance between numbers of the values' own precision."""
    if values.dtype.kind != "f":
        return 0.0
    own = float(np.finfo(values.dtype).eps)
    if values.dtype != np.float32:
        return own
    bits = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    for zeros, epsilon in SHORTER:
        last = np.uint32((1 << zeros) - 1)
        if not (bits[:LOOKED_AT] & last).any() and not (bits & last).any():
            return max(own, epsilon)
    return own


def settle(arrays, is_parameter):
    """Give each array the precision of what it was computed from.

    In a recording in bfloat16, sums and softmaxes have more digits, but are no more precise.
    Inputs and small whole numbers may have few digits without being rounded. So may parameters,
    which have been in a shorter file, for example, before a pass in float32.

    is_parameter: whether the array of a name is one.
    """
    telling = [
        array
        for array in arrays[1:]
        if array.dtype == np.float32
        and array.kinds >= TELLING
        and not array.whole
        and not is_parameter(array.name)
    ]
    short = [array for array in telling if array.digits > array.epsilon]
    if len(short) < max(1, SHARE * len(telling)):
        return
    epsilon = max(array.digits for array in short)
    for array in arrays[arrays.index(short[0]) :]:
        if array.dtype.kind == "f":
            array.epsilon = max(array.epsilon, epsilon)
