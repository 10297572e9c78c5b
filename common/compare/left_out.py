"""A layer that one side leaves out, such as a last norm: nothing in its recording stands for it.

The first arrays that differ are then made of it in one side, of its input in the other. If they are
a dense layer, one weight shows it, though the weight is not known: it makes both results.
"""

from common.compare import difference, trying
from common.compare.between import normed
from common.compare.between.both import Both
from common.compare.between.own import EXACT, SPARE, WIDEST, Unexplained, some_rows
from common.compare.layers.layer import Layer, full, size
from common.compare.relations import Comparison, Relation

NEAR = 6  # inputs of each side that are tried


def found(recordings, first):
    """The first difference where a layer is left out, if it is why this one differs; or None."""
    i, j = first["a_place"], first["b_place"]
    theirs, _ = trying.as_in_a(recordings, trying.counterparts(recordings))
    a, b = recordings.a[i], theirs[j]
    if first["relation_holds"] or a.shape != b.shape or len(a.shape) < 2:
        return None
    if not (a.finite and b.finite and a.spread and b.spread):
        return None
    for k in _inputs(recordings.a, i):
        for m in _inputs(theirs, j):
            x, z = recordings.a[k], theirs[m]
            if x.shape != z.shape or recordings.agreement(k, m) or not _one_weight(x, z, a, b):
                continue
            new = bool(recordings.only_in_a([k])), bool(recordings.only_in_b([m]))
            if new[0] != new[1]:
                return _described(recordings, theirs, k, m)
    return None


def _inputs(arrays, place):
    """The places of the nearest arrays before this one that a dense layer may make it of.

    Of those with the same values, such as a dropout that is off, the first: that of the layer.
    """
    y, places = arrays[place], {}
    for n in range(place - 1, -1, -1):
        x = arrays[n]
        if x.shape[:-1] == y.shape[:-1] and x.dtype.kind == "f" and x.finite and x.spread:
            if x.shape[-1] <= WIDEST:
                places[x.mean, x.rms, x.ends] = n
    return list(places.values())[:NEAR]


def _one_weight(x, z, a, b):
    """Whether a is a dense layer of x, and b of z, with the same weight and bias."""
    width = x.shape[-1]
    inputs = [some_rows(full(array), width) for array in (x, z)]
    ours, theirs = (some_rows(full(array), width) for array in (a, b))
    if len(ours) + len(theirs) < SPARE * width + 4:
        return False
    left = Unexplained(*inputs)
    return size(left.of(ours, 0) + left.of(theirs, 1)) <= EXACT * size(theirs)


def _described(recordings, theirs, k, m):
    """The difference of a layer that one side has, and its input on the other side."""
    why = normed.explain(Both(Layer(recordings.a, k), Layer(theirs, m), []))
    if why is None:
        relation = Comparison(recordings.a[k], recordings.b[m], recordings.tolerance).relation()
        says = "what follows is computed from %s in A, from %s in B: %s"
        says %= recordings.a[k].name, recordings.b[m].name, relation.says
    else:
        says = why.says + ", which the other side leaves out"
    before = sum(pair.a < k and pair.b <= m for pair in recordings.pairs)
    made = difference.described(recordings, before, k, m, "value", Relation(says))
    made["computes"], made["docs"] = says, why and why.docs
    return made
