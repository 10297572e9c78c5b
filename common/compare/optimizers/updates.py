"""Steps that differ although the weights after them agree within the tolerance.

A step is small beside the weights. So what each side adds to them is compared as well, where both
sides have had the same gradients: there, a right port differs by rounding alone.
"""

import numpy as np

from common.compare.arrays import rms
from common.compare.difference import described
from common.compare.optimizers import steps
from common.compare.relations import Relation
from common.compare.rounding_only import layout_of_tensor

ROUNDINGS = 4  # of the weights, in float32, that a difference must exceed
SAME = 0.05  # of a gradient's value: if nearer, both sides have had the same one
OTHER = 0.5  # of a step: if farther apart, it is another one
PART = 0.5  # of the squared difference that one factor must explain
FACTOR = 1e-3  # the least factor; Adam's corrections in float32 are off by up to 1e-4
FEW = 16  # values; with fewer, a factor of the weights shows nothing


def first_difference(recordings):
    """The first array of steps that differs so, as a dict; None if there is none."""
    sides = _known(recordings.a), _known(recordings.b)
    found = [
        difference
        for theirs, ours in recordings.tensors.items()
        for difference in [_of_tensor(recordings, sides, ours, theirs)]
        if difference is not None
    ]
    return min(found, key=lambda difference: difference["a_place"]) if found else None


def _known(arrays):
    """{(kind, step, tensor): place}; the weights before the first step are those of step 0."""
    found = {}
    for place, array in enumerate(arrays):
        what, step, key = steps.kind(array.name)
        if what == "start":
            what, step = "weight", 0
        if array.finite and array.dtype.kind == "f":
            found.setdefault((what, step, key), place)
    return found


def _of_tensor(recordings, sides, ours, theirs):
    layout = layout_of_tensor(recordings, ours, theirs)
    if not layout:
        return None
    step, same, before = 1, True, _values(recordings, sides, "weight", 0, ours, theirs, layout)
    while before is not None:
        places = [side.get(("gradient", step, key)) for side, key in zip(sides, (ours, theirs))]
        gradients = _values(recordings, sides, "gradient", step, ours, theirs, layout)
        after = _values(recordings, sides, "weight", step, ours, theirs, layout)
        if gradients is None or recordings.a[places[0]].name in recordings.rounding_only:
            return None
        if rms(gradients[1] - gradients[0]) > OTHER * rms(gradients[1]):
            return _elsewhere(recordings, places, layout)
        if after is None:
            return None
        same = same & (np.abs(gradients[1] - gradients[0]) <= SAME * np.abs(gradients[1]))
        says = _words(*(x[same] for x in before + after + gradients)) if same.any() else None
        if says is not None:
            i, j = (side["weight", step, key] for side, key in zip(sides, (ours, theirs)))
            return _described(recordings, i, j, says)
        before, step = after, step + 1
    return None


def _values(recordings, sides, what, step, ours, theirs, layout):
    """(A's values, B's), in B's layout and in float64; None if one side lacks them."""
    places = sides[0].get((what, step, ours)), sides[1].get((what, step, theirs))
    if None in places:
        return None
    a, b = recordings.a[places[0]].values, recordings.b[places[1]].values
    if a.size != b.size or b.size != np.prod(layout.split):
        return None
    return layout.apply(a, b.shape).astype(np.float64), b.astype(np.float64)


def _elsewhere(recordings, places, layout):
    """The difference of two gradients that agree, but not in the layout of their weights."""
    same = recordings.agreement(*places)
    if same is None or same.layout == layout:
        return None
    a, b = recordings.a[places[0]], recordings.b[places[1]]
    says = "B is A, %s, and the weights are not" % (same.layout.words(a, b) or "as it is")
    return _described(recordings, *places, says)


def _described(recordings, i, j, says):
    before, pair = len(recordings.before(i, j)), recordings.pair(i, j)
    off = pair and pair.off / recordings.b[j].scale
    return described(recordings, before, i, j, "name", Relation(says, off))


def _words(a_before, b_before, a_after, b_after, a_gradient, b_gradient):
    """How B's step differs, in words; None if it may be rounding. Of the same values in both."""
    ours, theirs = a_after - a_before, b_after - b_before
    off = theirs - ours
    if rms(off) <= ROUNDINGS * np.finfo(np.float32).eps * max(rms(b_before), rms(b_after)):
        return None
    least = max(FACTOR, 4 * rms(b_gradient - a_gradient) / (rms(b_gradient) or 1))
    factor = _factor(ours, off)
    if abs(factor) > least:
        return "B's step is A's, times %.4g" % (1 + factor)
    factor = _factor(b_before, off) if off.size >= FEW else 0.0
    if factor:
        return "B's step is A's, plus %.3g times the weights" % factor
    if rms(off) > OTHER * max(rms(ours), rms(theirs)):
        return "B's step is another one, though the gradients agree"
    return None


def _factor(values, off):
    """The number by which these values are the difference; 0 if none explains most of it."""
    squares = (values**2).sum()
    factor = (values * off).sum() / squares if squares else 0.0
    return float(factor) if factor**2 * squares > PART * (off**2).sum() else 0.0
