"""A weight that one side uses in two places: its gradient is the sum of two on the other side."""

from common.compare.arrays import apart
from common.compare.layers.layer import full
from common.compare.optimizers import steps

NEAR = 1e-4  # of the gradient that one side adds: what may be left


def explained(recordings, difference):
    """The tie in words, if the first difference is the gradient of a tied weight; or None."""
    a, b = recordings.a[difference["a_place"]], recordings.b[difference["b_place"]]
    if sorted(a.shape) != sorted(b.shape) or not (a.finite and b.finite):
        return None
    sides = ((a, b, recordings.b, "A", "B"), (b, a, recordings.a, "B", "A"))
    for whole, part, arrays, tying, other in sides:
        other_values = full(part) if a.shape == b.shape else full(part).T
        if other_values.shape != whole.shape:
            continue
        off = full(whole) - other_values
        for x in arrays:
            if x is part or steps.kind(x.name)[:2] != steps.kind(part.name)[:2]:
                continue
            for values in (full(x), full(x).T):
                if values.shape == off.shape and apart(off, values) <= NEAR * x.rms:
                    names = [steps.label(array.name) for array in (whole, part, x)]
                    says = "the gradient of %s in %s is the sum of those of %s and %s in %s: "
                    says %= names[0], tying, names[1], names[2], other
                    return says + "they are one shared weight in %s alone" % tying
    return None
