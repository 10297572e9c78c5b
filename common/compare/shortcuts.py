"""A sum that differs although its branch agrees: its shortcut differs.

Some frameworks record the shortcut before the branch, others after it, so its arrays cannot be
paired by their order. But both sides add the shortcut's last array to a branch that agrees.
"""

from common.compare import difference as differences
from common.compare.layers import search
from common.compare.layers.layer import Layer


def first_difference(recordings, difference):
    """The first difference in the shortcut, if that is why a sum differs; or None."""
    i, j = difference["a_place"], difference["b_place"]
    if difference["relation_holds"]:
        return None
    ends = [
        _unpaired(arrays, place, {pair[n] for pair in recordings.pairs})
        for n, (arrays, place) in enumerate(((recordings.a, i), (recordings.b, j)))
    ]
    if None in ends:
        return None
    first = None
    while _may_be_one(recordings, *ends):
        before = len(recordings.before(*ends))
        made = differences.described(recordings, before, *ends, "value")
        if made["relation_holds"] and first:
            break  # a bias, which the norm absorbs
        first = made
        ends = [ends[0] - 1, ends[1] - 1]
    return first


def _unpaired(arrays, place, paired):
    """The place of the summand without a counterpart; None unless one of exactly two lacks one."""
    fit = search.fit(Layer(arrays, place))
    if fit is None or not search.is_sum(fit) or len(fit.case.inputs) != 2:
        return None
    names = [array.name for array in fit.case.inputs]
    places = [n for n in range(place) if arrays[n].name in names]
    alone = [n for n in places if n not in paired]
    return alone[0] if len(places) == 2 and len(alone) == 1 else None


def _may_be_one(recordings, k, m):
    """Whether two arrays without a counterpart have the same values but for their order."""
    if min(k, m) < 0 or not recordings.only_in_a([k]) or not recordings.only_in_b([m]):
        return False
    a, b = recordings.a[k], recordings.b[m]
    return sorted(a.shape) == sorted(b.shape) and a.finite and b.finite
