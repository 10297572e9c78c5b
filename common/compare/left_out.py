"""A layer that one side leaves out, such as a last norm: nothing in its recording stands for it.

The first arrays that differ are then made of it in one side, of its input in the other. If they are
a dense layer, one weight shows it, though the weight is not known: it makes both results.
"""

import itertools

from common.compare import difference, trying
from common.compare.between import normed
from common.compare.between.both import Both
from common.compare.between.own import WIDEST, one_weight
from common.compare.layers.layer import Layer
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
    for k, m in itertools.product(_inputs(recordings.a, i), _inputs(theirs, j)):
        x, z = recordings.a[k], theirs[m]
        if x.shape != z.shape or recordings.agreement(k, m):
            continue
        one_is_new = bool(recordings.only_in_a([k])) != bool(recordings.only_in_b([m]))
        if one_is_new and one_weight(x, z, a, b):
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
