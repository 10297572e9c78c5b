"""Images that differ only in size, for example because another layer has the stride."""

import itertools

import numpy as np

from common.compare.arrays import allowed, rms
from common.compare.relations import Relation

AXES = ((1, 2, 3), (3, 1, 2))  # channels, height, width


def relation(a, b, tolerance):
    """The ``Relation`` of images with as many channels, but another height and width; or None.

    Height and width must differ by the same whole factor.
    """
    for ours, theirs in itertools.product(AXES, AXES):
        step = _step(a.shape, b.shape, ours, theirs)
        if step > 1:
            return _described(a, b, ours, theirs, step, tolerance)
    return None


def _step(a, b, ours, theirs):
    """The ratio of larger to smaller height and width; 0 if it is not whole, or more differs."""
    if len(a) != 4 or len(b) != 4 or (a[0], a[ours[0]]) != (b[0], b[theirs[0]]):
        return 0
    small, large = sorted([tuple(a[n] for n in ours[1:]), tuple(b[n] for n in theirs[1:])])
    steps = {n // m for m, n in zip(small, large)}
    whole = not any(n % m for m, n in zip(small, large)) and min(small) > 1
    return steps.pop() if whole and len(steps) == 1 else 0


def _described(a, b, ours, theirs, step, tolerance):
    """Says whether the smaller images hold every second place, or every third, of the larger."""
    says = "as by another stride or resize: %s in A, %s in B" % (a.shape, b.shape)
    images = [
        x.values.reshape(x.shape).transpose((0,) + axes) for x, axes in ((a, ours), (b, theirs))
    ]
    names = ("A", "B") if images[0].size < images[1].size else ("B", "A")
    small, large = sorted(images, key=np.size)
    some = large[:, :, ::step, ::step]
    if not (a.finite and b.finite):
        return Relation(says)
    off = np.subtract(some, small, dtype=np.float64)
    off -= off.mean((0, 2, 3), keepdims=True)  # one side may have a bias that a norm absorbs
    if rms(off) > allowed(a, b, tolerance):
        return Relation(says)
    says = (
        "%s is %s with a step of %d in height and width, so only a stride differs: %s in A, %s in B"
    )
    return Relation(says % (names + (step, a.shape, b.shape)))
