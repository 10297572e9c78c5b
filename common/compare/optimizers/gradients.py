"""Gradients that were not cleared between two steps, or that one side lacks."""

from common.compare.layers.layer import size
from common.compare.optimizers import steps

NEAR = 1e-3  # of the difference: what the step before may leave unexplained
FEW = 3  # names that are listed


def explained(recordings, difference):
    """Why this gradient, or this weight after a step, is the first to differ; in words, or None."""
    what, step, _ = steps.kind(difference["a"])
    if what == "gradient" and step > 1:
        return _not_cleared(recordings, difference)
    return _missing(recordings, difference) if what in ("weight", "update") else None


def _not_cleared(recordings, difference):
    """One side's gradient is the other's plus that of the step before, which agrees."""
    i, j = difference["a_place"], difference["b_place"]
    _, step, tensor = steps.kind(difference["a"])
    before = {steps.kind(recordings.a[pair.a].name): pair for pair in recordings.pairs}
    pair = before.get(("gradient", step - 1, tensor))
    if pair is None or pair.layout.flipped or pair.layout.order is not None:
        return None
    a, b, last = recordings.a[i], recordings.b[j], recordings.b[pair.b]
    if not (a.finite and b.finite) or b.values.shape != last.values.shape:
        return None
    off = b.values - pair.layout.apply(a.values, b.values.shape)
    for side, sign in (("B", 1), ("A", -1)):
        if size(off - sign * last.values) <= NEAR * size(off):
            says = "the gradients of step %d are added to those of step %d in %s: "
            return says % (step, step - 1, side) + "they are not cleared between the steps"
    return None


def _missing(recordings, difference):
    """The tensor that moved has a gradient on one side only, while others have it on both."""
    _, step, tensor = steps.kind(difference["a"])
    known = recordings.tensors
    sides = [
        {
            known.get(key, key) if n else key: array.name
            for array in arrays
            for what, at, key in [steps.kind(array.name)]
            if (what, at) == ("gradient", step)
        }
        for n, arrays in enumerate((recordings.a, recordings.b))
    ]
    for n, (side, other) in enumerate((("A", "B"), ("B", "A"))):
        lacking = [steps.label(name) for key, name in sides[n].items() if key not in sides[1 - n]]
        if tensor in sides[n] and tensor not in sides[1 - n] and sides[1 - n]:
            says = "no gradient of %d tensors in %s, which have one in %s: nothing reaches %s"
            names = ", ".join(lacking[:FEW]) + ", ..." * (len(lacking) > FEW)
            return says % (len(lacking), other, side, names)
    return None
