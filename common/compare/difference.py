"""The first difference between two recordings."""

from collections import OrderedDict

import numpy as np

from common.compare.arrays import apart
from common.compare.layouts import plain
from common.compare.pairing import has_name
from common.compare.relations import Comparison, Relation

TRIED = 12  # arrays on either side, after the last pair, that are compared with each other


def first(recordings):
    """The first difference, as a dict; None if there is none."""
    for before, ours, theirs in recordings.gaps():
        difference = _in_gap(recordings, before, list(ours), list(theirs))
        if difference is not None:
            unrelated = difference["correlation"] is not None
            return unrelated and _moved(recordings, before) or difference
    return _moved(recordings, len(recordings.pairs))


def _in_gap(recordings, before, ours, theirs):
    """The first difference among the arrays between two pairs, or None."""
    a, b = recordings.a, recordings.b
    last = before == len(recordings.pairs)
    if ours and theirs:
        likely = recordings.layouts(before)
        others = {b[j].name: j for j in theirs if has_name(b[j].name)}
        names = {a[i].name for i in ours}
        for i in ours[:TRIED]:
            if a[i].name in others:
                return _described(recordings, before, i, others[a[i].name], "name")
            for j in theirs[:TRIED]:
                if b[j].name in names:
                    continue
                relation = Comparison(a[i], b[j], recordings.tolerance, likely).relation()
                if relation.after is not None:
                    return _described(recordings, before, i, j, "value", relation)
        new = recordings.only_in_a(ours), recordings.only_in_b(theirs)
        for i in new[0]:
            for j in new[1]:
                if a[i].size == b[j].size:
                    return _described(recordings, before, i, j, "place")
        if last:
            return _described(
                recordings, before, (new[0] or ours)[0], (new[1] or theirs)[0], "place"
            )
    elif last and (ours or theirs):
        # At its end, one recording may use a name of the other for something else.
        for i in ours or range(len(a)):
            for j in theirs or range(len(b)):
                if recordings.same_name(i, j) and not recordings.agreement(i, j):
                    return _described(recordings, before, i, j, "name")
    return None


def _has_rows(recordings, pair):
    """Whether a pair's arrays have a row for each observation."""
    rows = recordings.a[0].shape[:1]
    pairs = recordings.a[pair.a].shape[:1], recordings.b[pair.b].shape[:1]
    return rows and rows in pairs


def _moved(recordings, before):
    """A difference where the last pair before has the same values in other places, or None.

    If the shapes are equal, moved values of a batch are wrong, unless they moved in the same way
    earlier, or later arrays agree nevertheless.
    """
    rows = [pair for pair in recordings.pairs[:before] if _has_rows(recordings, pair)]
    if not rows:
        return None
    *earlier, pair = rows
    a, b = recordings.a[pair.a], recordings.b[pair.b]
    if a.shape != b.shape and not pair.layout.flipped and pair.layout.order is None:
        return None
    if pair.layout.kind() in [plain(a).kind()] + [other.layout.kind() for other in earlier]:
        return None
    spread = b.spread or 1
    off = apart(a.values, b.values) / spread if a.values.shape == b.values.shape else None
    relation = Relation("B is A, " + pair.layout.words(a, b), off, pair.off / spread)
    return _described(recordings, recordings.pairs.index(pair), pair.a, pair.b, "value", relation)


def _described(recordings, before, i, j, by, relation=None):
    """A difference as a dict of JSON values."""
    a, b = recordings.a[i], recordings.b[j]
    if relation is None:
        likely = recordings.layouts(before)
        relation = Comparison(a, b, recordings.tolerance, likely).relation()
    after = [pair for pair in recordings.pairs if pair.a > i and pair.b > j]
    return OrderedDict(
        a=a.name,
        b=b.name,
        a_place=i,
        b_place=j,
        paired_by=by,
        relation=relation.says,
        apart=_number(relation.before),
        apart_with_relation=_number(relation.after),
        correlation=_number(relation.alike),
        agree_before=before,
        agree_behind=len(after),
        behind=min(len(recordings.a) - i, len(recordings.b) - j) - 1,
    )


def _number(value):
    """For JSON: a float, or None."""
    return float(value) if value is not None and np.isfinite(value) else None
