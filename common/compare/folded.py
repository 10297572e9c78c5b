"""Convolutions with a bias on one side only, before batch norms.

Both sides may be right: the norm subtracts the bias with the mean.
"""

import numpy as np

from common.compare.between import batchnorm
from common.compare.counterparts import matched

NEAR = 4  # arrays until the norm's result


def norm_after(recordings, difference):
    """(place in A, in B) of a norm that differs by more than the bias of the layers before it.

    None if its channels have the same factors in A and in B: then the bias is the difference.
    """
    i, j = difference["a_place"], difference["b_place"]
    if not difference["relation_holds"]:
        return None
    ours, theirs = (
        range(place + 1, min(place + 1 + NEAR, len(side)))
        for place, side in ((i, recordings.a), (j, recordings.b))
    )
    for k, m, _ in matched(recordings, ours, theirs, difference["agree_before"])[:1]:
        sides = (recordings.a[i], recordings.a[k]), (recordings.b[j], recordings.b[m])
        if all(x.shape == y.shape and y.finite for x, y in sides) and sides[0][0].finite:
            layouts = recordings.usual_layouts(sides[0][0], sides[1][0])
            if any(_differs(sides, layout) for layout in layouts):
                return k, m
    return None


def _differs(sides, layout):
    """Whether channels have other factors in B, although their inputs differ only by a bias."""
    (x, ours), (z, theirs) = ([array.values.astype(np.float64) for array in side] for side in sides)
    x, ours = (layout.apply(y, z.shape) for y in (x, ours))
    noise = 8 * max(y.epsilon * y.rms for side in sides for y in side)
    for axis in {1, z.ndim - 1} if z.ndim > 1 else ():
        rows = [np.moveaxis(y, axis, 0).reshape(z.shape[axis], -1) for y in (x, z, ours, theirs)]
        off = rows[1] - rows[0]
        if np.abs(off - off.mean(1, keepdims=True)).max() <= 16 * noise:
            return batchnorm.factors(rows[0], rows[2], rows[3], noise) is not None
    return False
