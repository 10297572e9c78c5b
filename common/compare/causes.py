"""Layers whose results differ although their inputs agree.

The cause is then their functions, or which inputs they take.
"""

import itertools

import numpy as np

from common.compare.layers import linear, search
from common.compare.relations import Comparison


def explained(recordings, layer):
    """What a pair of layers computes in A and in B, from which inputs; None if that is the same.

    layer: the ``Verdict`` on the pair. Also None if one of the inputs is not in both recordings.
    """
    paired, places = _counterparts(recordings, layer)
    ours, theirs = _origin(layer.a_fit, paired), _origin(layer.b_fit, places)
    if ours is None or theirs is None:
        return _changed_before(recordings, layer)
    inputs = [
        sorted(known[x.name] for x in fit.case.inputs)
        for fit, known in ((ours, paired), (theirs, places))
    ]
    if search.same_family(ours, theirs) and inputs[0] == inputs[1]:
        return _reordered(recordings, ours, theirs, paired)
    return "%s, in A; %s, in B" % (search.function(ours), search.function(theirs))


def _counterparts(recordings, layer):
    """{name: place in A} of A's and of B's arrays before a layer that have a counterpart.

    First those in both recordings' order, then those of branches that B computes in another order.
    """
    pairs = [pair[:2] for pair in recordings.pairs]
    pairs += recordings.crossing(layer.a.place)
    return {recordings.a[i].name: i for i, _ in pairs}, {recordings.b[j].name: i for i, j in pairs}


def _reordered(recordings, ours, theirs, paired):
    """In words: both compute the same function, of parts that B has in another order; or None."""
    if ours.constants != theirs.constants or ours.family is linear:
        return None  # a dense layer's weights may have that order, too
    names = [x.name for x in search.ordered(theirs)]
    for x in ours.case.inputs:
        for j in recordings.agreeing(paired[x.name]):
            layout, b = recordings.agreement(paired[x.name], j).layout, recordings.b[j]
            if layout.order is not None and b.name in names:
                says = "%s in both, but %s has the values of %s on %s"
                return says % (search.shown(ours), b.name, x.name, layout.words(x, b))
    return None


def _changed_before(recordings, layer):
    """In words: both compute the same function, of inputs with a known relation; or None.

    One example is a dropout that is on in one recording.
    """
    fits = layer.a_fit, layer.b_fit
    if None in fits or not search.same_family(*fits) or fits[0].constants != fits[1].constants:
        return None
    if any(len(fit.case.inputs) != 1 for fit in fits):
        return None
    for ours, theirs in itertools.product(*(_alternatives(fit) for fit in fits)):
        relation = Comparison(ours, theirs, recordings.tolerance).relation()
        if relation.after is not None:
            says = "%s in both, of %s in A, of %s in B, where %s"
            return says % (search.shown(fits[0]), ours.name, theirs.name, relation.says)
    return None


def _alternatives(fit):
    """Yield inputs that give the same result, such as recorded operations inside the layer."""
    with np.errstate(all="ignore"):
        for case in fit.family.cases(fit.case.layer):
            if len(case.inputs) == 1 and fit.family.off(case, fit.constants) <= case.limit:
                yield case.inputs[0]


def _origin(fit, known):
    """The ``Fit``, or its input's if the layer only copies an array that the other side lacks.

    None if it is not known, or if one of its inputs is not in both recordings.
    """
    fit = search.origin(fit, known)
    if fit is None or any(array.name not in known for array in fit.case.inputs):
        return None
    return fit
