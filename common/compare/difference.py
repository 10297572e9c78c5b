"""The first difference between two recordings."""

from collections import OrderedDict

import numpy as np

from common.compare import folded, masked, strides
from common.compare.arrays import apart
from common.compare.counterparts import TRIED, by_scope, matched
from common.compare.layouts import plain
from common.compare.relations import Comparison, Relation

NEXT = 2  # arrays of A after a layer that may be its activation
CHAIN = 3  # consecutive arrays that must be off to count if later ones agree
NEAR = 3  # last pairs before a difference whose values may be reordered, such as queries and keys
BRANCH = 4  # pairs of a shortcut that may agree between a wrong layer and what follows from it


def first(recordings):
    """The first difference, as a dict; None if there is none."""
    doubtful = None
    for before, ours, theirs in recordings.gaps():
        ours, theirs = _not_returned(recordings, ours, theirs)
        if before < len(recordings.pairs) and not (ours and theirs):
            continue  # only one side has further arrays
        if recordings.followed(before):
            new = recordings.only_in_a(ours), recordings.only_in_b(theirs)
            difference = _between_pairs(recordings, before, ours, theirs, new)
            doubtful = doubtful or chain(recordings, before, *new)
        elif before < len(recordings.pairs):
            difference = _in_last_gap(recordings, before, ours, theirs)
        else:
            difference = _at_the_end(recordings, before, ours, theirs)
        if difference is not None:
            better = _better(recordings, doubtful or difference)
            if better is not None or doubtful is not None:
                return better or doubtful
            unrelated = difference["correlation"] is not None
            return unrelated and _moved(recordings, before, NEAR) or difference
    return _astray(recordings) or _moved(recordings, len(recordings.pairs))


def _not_returned(recordings, ours, theirs):
    """The places in a gap, without results of the network that agree with an earlier array."""
    outputs = recordings.outputs
    ours = [i for i in ours if not outputs[0][i] or recordings.only_in_a([i])]
    return ours, [j for j in theirs if not outputs[1][j] or recordings.only_in_b([j])]


def _astray(recordings):
    """The first arrays of one name that differ, and that lie between other pairs in B; or None.

    For example, B computes a branch later. Where either one's values are elsewhere, its name stands
    for something else there. But gradients and weights of other tensors are no counterparts.
    """
    for i, j in sorted(recordings.named.items()):
        if recordings.agreement(i, j):
            continue
        before = sum(pair.a < i for pair in recordings.pairs)
        moments = recordings.moments[0][i], recordings.moments[1][j]
        if moments[0] is not None and moments[0] == moments[1]:
            return described(recordings, before, i, j, "name")
        if recordings.only_in_a([i]) and recordings.only_in_b([j]):
            if before != sum(pair.b < j for pair in recordings.pairs):
                return described(recordings, before, i, j, "name")
    return None


def _better(recordings, difference):
    """An earlier difference that causes this one, or a clearer one; None if there is none."""
    before = difference["agree_before"]
    sooner = _other_stride(recordings, before, difference) or _swapped(recordings, difference)
    norm = None if sooner else folded.norm_after(recordings, difference)
    return described(recordings, before, *norm, "place") if norm else sooner


def with_verdicts(recordings, difference, verdicts):
    """The first difference, or an earlier one that a verdict on a layer shows.

    Layers may compute different functions although their results agree within the tolerance.
    """
    for verdict in verdicts:
        i, j = verdict.a.place, verdict.b.place
        if not verdict.differs or (difference is not None and i > difference["a_place"]):
            continue
        says = verdict.says
        if difference is None or (i, j) != (difference["a_place"], difference["b_place"]):
            difference = of_two(recordings, i, j, says)
        difference["computes"], difference["docs"] = says, verdict.docs
        return difference
    return difference


def _between_pairs(recordings, before, ours, theirs, new):
    """The first difference among arrays if later ones agree; or None.

    Layers that only one side recorded, such as a sum and its branch, are no difference there.
    Weights, gradients and losses count: later arrays were not computed from them.
    """
    new = set(new[0]), set(new[1])  # those whose values are nowhere in the other recording
    for i, j, by in matched(recordings, ours, theirs, before):
        if (by == "name" and not masked.elsewhere(recordings, i, j)) or (
            i in new[0]
            and j in new[1]
            and not recordings.has_rows(i, j)
            and _alone(recordings, i, j, new)
        ):
            return described(recordings, before, i, j, by)
    return None


def _alone(recordings, i, j, new):
    """Whether two arrays have one size, and A has as many new arrays of it as B."""
    sizes = [recordings.a[k].size for k in new[0]], [recordings.b[k].size for k in new[1]]
    size = recordings.a[i].size
    return size == recordings.b[j].size and sizes[0].count(size) == sizes[1].count(size)


def chain(recordings, before, *new):
    """The first of several consecutive arrays that are off, though later ones agree; or None.

    This happens if a network has two inputs. It counts if the recordings also differ further on.

    new: the places in A, and those in B, of arrays whose values are nowhere in the other.
    """
    pairs = matched(recordings, new[0], new[1], before)
    if len(pairs) < CHAIN or 2 * len(pairs) <= min(len(new[0]), len(new[1])):
        return None
    return described(recordings, before, *pairs[0])


def _other_stride(recordings, before, difference):
    """A difference in the size of images, before the known one; or None.

    Images of different sizes cannot be paired, so the first pair that differs comes later. A
    shortcut whose arrays agree may come in between.
    """
    for earlier, ours, theirs in recordings.gaps():
        if not before - BRANCH <= earlier <= before:
            continue
        new = (
            recordings.only_in_a([i for i in ours if i <= difference["a_place"]]),
            recordings.only_in_b([j for j in theirs if j <= difference["b_place"]]),
        )
        for i, j in zip(new[0][:1], new[1][:1]):
            relation = strides.relation(recordings.a[i], recordings.b[j], recordings.tolerance)
            if relation is not None:
                return described(recordings, earlier, i, j, "place", relation)
    return None


def _swapped(recordings, difference):
    """Two arrays before the difference that have each other's names in B; or None."""
    places = range(len(recordings.a)), range(len(recordings.b))
    named = dict(by_scope(recordings, *places, ordered=False))
    named.update(recordings.named)
    for i, j in sorted(named.items()):
        if i > difference["a_place"] or recordings.agreement(i, j):
            continue
        for k, m in named.items():
            if k <= i:
                continue
            same = recordings.agreement(i, m), recordings.agreement(k, j)
            if all(x is not None and x.proof for x in same):
                names = (recordings.b[m].name, recordings.b[j].name)
                off = same[0].off / (recordings.b[m].spread or 1)
                relation = Relation("%s and %s are swapped in B" % names, None, off)
                before = len(recordings.before(i, j))
                return described(recordings, before, i, j, "name", relation)
    return None


def _at_the_end(recordings, before, ours, theirs):
    """The first difference after the last pair, or None."""
    a, b = recordings.a, recordings.b
    if ours and theirs:
        difference = _in_last_gap(recordings, before, ours, theirs)
        if difference is None:
            new = recordings.only_in_a(ours), recordings.only_in_b(theirs)
            i, j = (new[0] or ours)[0], (new[1] or theirs)[0]
            # A copy of an array before the last pair is no counterpart: that side ends sooner.
            last = recordings.pairs[-1:]
            copies = any(recordings.agreement(p.a, j) or recordings.agreement(i, p.b) for p in last)
            if all(new) or copies or a[i].size == b[j].size:
                difference = described(recordings, before, i, j, "place")
        return difference
    # At its end, one recording may use a name of the other for something else.
    for i in ours or (range(len(a)) if theirs else ()):
        for j in theirs or range(len(b)):
            if recordings.same_name(i, j) and not recordings.agreement(i, j):
                return described(recordings, before, i, j, "name")
    return None


def _in_last_gap(recordings, before, ours, theirs):
    """The first difference where no computed pair follows, or None."""
    new = recordings.only_in_a(ours), recordings.only_in_b(theirs)
    pairs = {i: (j, by) for i, j, by in matched(recordings, ours, theirs, before)}
    likely = recordings.layouts(before)
    named = set(recordings.named), set(recordings.named.values())
    for i in ours:
        j, by = pairs.get(i, (None, None))
        if by == "name":
            return described(recordings, before, i, j, by)
        if i in ours[:TRIED] and i not in named[0]:
            for k in [k for k in theirs[:TRIED] if k not in named[1]]:
                if i not in new[0] and k not in new[1]:
                    continue  # both have a counterpart elsewhere
                pair = recordings.a[i], recordings.b[k]
                relation = Comparison(*pair, recordings.tolerance, likely).relation()
                both_new = i in new[0] and k in new[1]
                if relation.after is not None and (both_new or not relation.partial):
                    activated = _activated(recordings, i, k, relation)
                    if activated is not None:
                        return described(recordings, before, activated, k, "value")
                    return described(recordings, before, i, k, "value", relation)
        if i in new[0] and i not in named[0]:
            crossed = _crossed(recordings, before, i, theirs)
            if crossed is not None:
                return crossed
        if j is not None and i in new[0] and j in new[1]:
            return described(recordings, before, i, j, by)
    return None


def _activated(recordings, i, k, relation):
    """The place of A's own activation of an array, if B's array is another one of it; or None."""
    a = recordings.a
    for n in range(i + 1, min(i + 1 + NEXT, len(a))) if relation.activates else ():
        if a[n].shape == a[i].shape and a[n].finite and not recordings.agreement(n, k):
            if Comparison(a[i], a[n], recordings.tolerance).activation() is not None:
                return n
    return None


def _crossed(recordings, before, i, theirs):
    """A relation to an array that B computed before the last pair, in another order; or None.

    For example, either side may look up positions before token types, or after them.
    """
    a, b = recordings.a, recordings.b
    earlier = range(max(0, theirs[0] - TRIED), theirs[0]) if theirs else ()
    for j in recordings.only_in_b(earlier):
        if j in recordings.named.values() or a[i].values.shape != b[j].values.shape:
            continue
        if a[i].dtype.kind != "f" or b[j].dtype.kind != "f":
            continue
        likely = recordings.layouts(before)
        relation = Comparison(a[i], b[j], recordings.tolerance, likely).relation()
        if relation.after is not None:
            return described(recordings, before, i, j, "value", relation)
    return None


def _moved(recordings, before, near=1):
    """A difference at one of the last pairs, if B has its values in other places; or None.

    With equal shapes, moved values of a batch are wrong, unless earlier pairs are moved in the same
    way or later arrays agree anyway.

    near: how many of the last pairs are examined, from the earliest on.
    """
    earlier = recordings.pairs[:before]
    rows = [pair for pair in earlier if recordings.has_rows(pair.a, pair.b)]
    table = earlier[-1:]  # such as positions, which have no row for each observation
    if table and not rows[-1:] == table and not recordings.is_parameter(table[0]):
        # A single number, such as a loss, shows no order.
        rows += [pair for pair in table if recordings.a[pair.a].size > 1]
    if not rows:
        return None
    for last in range(max(0, len(rows) - near), len(rows)):
        pair = rows[last]
        as_last = last < len(rows) - 1 and pair.layout.kind() == rows[-1].layout.kind()
        found = None if as_last else _moved_pair(recordings, rows[:last], pair)
        if found is not None:
            return found
    return None


def _moved_pair(recordings, earlier, pair):
    """The same for one pair, given the earlier ones."""
    a, b = recordings.a[pair.a], recordings.b[pair.b]
    if a.shape != b.shape and not pair.layout.flipped and pair.layout.order is None:
        return None
    if pair.layout.kind() in [plain(a).kind()] + [other.layout.kind() for other in earlier]:
        return None
    spread = b.spread or 1
    off = apart(a.values, b.values) / spread if a.values.shape == b.values.shape else None
    relation = Relation("B is A, " + pair.layout.words(a, b), off, pair.off / spread)
    return described(recordings, recordings.pairs.index(pair), pair.a, pair.b, "value", relation)


def of_two(recordings, i, j, says):
    """The difference of two arrays that may agree, given in words."""
    pair = recordings.pair(i, j)
    off = pair and pair.off / recordings.b[j].scale
    by = "name" if recordings.same_name(i, j) else "place"
    before = len(recordings.before(i, j))
    return described(recordings, before, i, j, by, Relation(says, off))


def described(recordings, before, i, j, by, relation=None):
    """A difference as a dict of JSON values."""
    a, b = recordings.a[i], recordings.b[j]
    if relation is None:
        likely, fresh = recordings.layouts(before), recordings.fresh(before)
        relation = Comparison(a, b, recordings.tolerance, likely, fresh).relation()
    after = [pair for pair in recordings.pairs if pair.a > i and pair.b > j]
    return OrderedDict(
        a=a.name,
        b=b.name,
        a_place=i,
        b_place=j,
        paired_by=by,
        relation=relation.says,
        apart=number(relation.before),
        apart_with_relation=number(relation.after),
        relation_holds=relation.after is not None and not relation.partial,
        correlation=number(relation.alike),
        computes=None,
        docs=None,
        agree_before=before,
        agree_behind=len(after),
        behind=min(len(recordings.a) - i, len(recordings.b) - j) - 1,
    )


def number(value):
    """A float for JSON; None for infinity, NaN and None."""
    return float(value) if value is not None and np.isfinite(value) else None
