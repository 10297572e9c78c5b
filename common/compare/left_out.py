"""A layer that one side leaves out, such as a last norm. Its recording shows no trace.

The first arrays that differ are then computed from the layer on one side, from its input on the
other. If they are dense layers, one unknown weight must make both results.
"""

import itertools

from common.compare import difference, trying
from common.compare.between import normed
from common.compare.between.both import Both
from common.compare.between.own import WIDEST, one_weight
from common.compare.layers.layer import Layer
from common.compare.relations import Comparison, Relation

NEAR = 6  # inputs of each side that are tried


def first_difference(recordings, first):
    """The difference at the layer that is left out, if that causes the first one; or None."""
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
    """The places of the nearest earlier arrays that may be the input of a dense layer here.

    If several hold the same values, as with a dropout that is off, the first: the layer itself.
    """
    y, places = arrays[place], {}
    for n in range(place - 1, -1, -1):
        x = arrays[n]
        if x.shape[:-1] == y.shape[:-1] and x.dtype.kind == "f" and x.finite and x.spread:
            if x.shape[-1] <= WIDEST:
                places[x.mean, x.rms, x.ends] = n
    return list(places.values())[:NEAR]


def _described(recordings, theirs, k, m):
    """The difference between a layer on one side and its input on the other."""
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
