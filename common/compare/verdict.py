"""The result of a comparison as JSON values, of the form in ``verdict.schema.json``.

``rows`` has a row for each array, in the order of both recordings. Its ``state`` is one of

    agree             the values agree
    first difference  the first pair that does not agree, or that computes something else
    also different    a later layer that computes something else from its own input
    off               values that differ after the first difference, perhaps only because of it
    only in A         an array that has no counterpart in the other recording
    only in B
"""

import os
from collections import OrderedDict

from common.compare import trying
from common.compare.arrays import allowed, apart
from common.compare.difference import number
from common.compare.layers import search
from common.compare.optimizers import explain as optimizer
from common.compare.optimizers import steps

SCHEMA_VERSION = 1
OF_PAIRS = ("layout", "distance", "limit", "proof", "a_computes", "b_computes", "says", "docs")
SCHEMA = os.path.join(os.path.dirname(__file__), "verdict.schema.json")


def of(recordings, first, layers, request, convention, hints):
    """The result as a dict of JSON values.

    convention: a difference that was accepted, in words. hints: what may be a mistake,
    and what is none, in words.
    """
    return OrderedDict(
        schema=SCHEMA_VERSION,
        agree=first is None and not (request.all and recordings.missing()),
        a=_file(request.a, recordings.a),
        b=_file(request.b, recordings.b),
        exact=request.exact,
        tolerance=recordings.tolerance,
        convention=convention,
        all=request.all,
        missing=recordings.missing(),
        first_difference=first,
        hints=list(hints),
        optimizer=_optimizer(recordings),
        rows=list(_rows(recordings, first, layers)),
    )


def _file(path, arrays):
    return OrderedDict(path=path, arrays=len(arrays))


def _optimizer(recordings):
    """What moved the weights on both sides; None if the recordings have no step."""
    tensors = steps.of(recordings.a), steps.of(recordings.b)
    if not all(tensors):
        return None
    a, b = optimizer.sides(recordings)
    differs = optimizer.explained(recordings)
    return OrderedDict(a=a, b=b, differs=differs)


def relative(recordings, pair):
    """The distance of two arrays that agree, relative to their spread."""
    return pair.off / recordings.b[pair.b].scale


def _rows(recordings, first, layers):
    """Yield a row for each array."""
    a, b = recordings.a, recordings.b
    known = {(layer.a.place, layer.b.place): layer for layer in layers}
    pairs = _pairs(recordings, first)
    theirs, _ = trying.as_in_a(recordings, trying.counterparts(recordings))
    i = j = 0
    for pair in pairs + [(len(a), len(b))]:
        yield from (_row(recordings, "only in A", ours=array) for array in a[i : pair[0]])
        yield from (_row(recordings, "only in B", theirs=array) for array in b[j : pair[1]])
        i, j = pair[0] + 1, pair[1] + 1
        if pair[0] < len(a):
            yield _pair(recordings, pair, first, known.get(pair), theirs[pair[1]])


def _pairs(recordings, first):
    """[(place in A, place in B)] of arrays to be shown side by side, in both recordings' order."""
    agree = {pair[:2] for pair in recordings.pairs}
    if first is None:
        return sorted(agree)
    start = (first["a_place"], first["b_place"])
    after = [pair for pair in trying.counterparts(recordings) if pair > start]
    pairs = [pair for pair in agree if pair[0] < start[0] and pair[1] < start[1]] + [start] + after
    ordered, last = [], -1
    for pair in sorted(set(pairs)):
        if pair[1] > last and (not ordered or pair[0] > ordered[-1][0]):
            ordered.append(pair)
            last = pair[1]
    return ordered


def _pair(recordings, place, first, layer, moved):
    """The row of two arrays. moved: B's, with its axes in A's order."""
    a, b = recordings.a[place[0]], recordings.b[place[1]]
    pair = recordings.pair(*place)
    state, says, docs = "agree" if pair else "off", None, None
    if first is not None and place == (first["a_place"], first["b_place"]):
        state, says = "first difference", first["computes"] or first["relation"]
        docs = first["docs"]
    elif layer is not None and layer.differs:
        state, says, docs = "also different", layer.says, layer.docs
    row = _row(recordings, state, a, b)
    row.update(
        layout=pair and pair.layout.words(a, b),
        distance=relative(recordings, pair) if pair else _distance(a, moved),
        limit=number(allowed(a, b, recordings.tolerance) / b.scale),
        proof=recordings.agreement(*place).proof if pair else None,
        a_computes=layer and layer.a_fit and search.function(layer.a_fit),
        b_computes=layer and layer.b_fit and search.function(layer.b_fit),
        says=says,
        docs=docs,
    )
    return row


def _distance(a, b):
    """The distance of two arrays that do not agree, relative to B's spread; None if unknown."""
    if a.values.shape != b.values.shape or not (a.finite and b.finite):
        return None
    return number(apart(a.values, b.values) / b.scale)


def _kind(recordings, array):
    """``layer``, or the kind of another array: ``gradient``, ``weight``, ``update``, ``other``."""
    kind = steps.kind(array.name)[0]
    if kind == "plain":
        rows = recordings.a[0].shape[:1]
        return "layer" if rows and rows == array.shape[:1] else "other"
    return "weight" if kind == "start" else kind


def _row(recordings, state, ours=None, theirs=None):
    """A row of one array or of two; what only a pair has is None."""
    a, b = (
        array and OrderedDict(name=array.name, shape=list(array.shape), dtype=str(array.dtype))
        for array in (ours, theirs)
    )
    row = OrderedDict(state=state, kind=_kind(recordings, ours or theirs), a=a, b=b)
    row.update((key, None) for key in OF_PAIRS)
    return row
