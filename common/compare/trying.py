"""What the layers of two recordings compute, pair by pair, found by trying."""

import copy
from collections import OrderedDict

import numpy as np

from common.compare import between, causes
from common.compare.between import attended, own
from common.compare.between.both import Both, Explanation
from common.compare.counterparts import by_scope, matched
from common.compare.layers import combination, normalisation, search
from common.compare.layers import docs as pages
from common.compare.layers.layer import Layer, Verdict, full
from common.compare.masks import words as mask_words
from common.compare.optimizers import clipping, gradients, running, steps, tied
from common.compare.optimizers import explain as optimizer

LARGEST = 2**24  # values of an array whose difference is explained
MOST = 96  # pairs of layers that are examined
USUAL = 8  # times the error of all earlier pairs: beyond that, something has changed
LEAST = 16  # roundings that a change must exceed
PARTS = 2  # how many of B's next arrays may be the whole layer that this one is part of
BESIDE = 8  # places between two layers that may be exchanged
ATTENTIONS = 8  # later ones that are tried
FEW = (4, 2)  # inputs of a later attention that are tried; with an unknown weight
BORROWED = 12  # arrays of the other side that are tried as a layer's input


def verdicts(recordings, first, every=False):
    """The ``Verdict`` on each pair of layers that is worth examining, in A's order.

    every: whether pairs that agree are examined, too.
    """
    pairs = counterparts(recordings)
    theirs, in_order = as_in_a(recordings, pairs)
    bank = weights(recordings)

    def layers(i, j):
        return Layer(recordings.a, i, bank), Layer(theirs, j, bank, in_order)

    at_first = first and (first["a_place"], first["b_place"])
    pairs = [pair for pair in pairs if pair == at_first or _is_of_a_layer(recordings, *pair)]
    likely = set(jumps(recordings))
    if first is not None:
        likely.update(pair for pair in pairs if _is_open(recordings, first, *pair))
        likely.update(_beside(recordings, first, pairs))
    likely &= set(pairs)
    likely.update(
        pair for pair in pairs if pair not in likely and search.other_epsilon(*layers(*pair))
    )
    rest = [pair for pair in pairs if every and pair not in likely]
    chosen = sorted((sorted(likely) + rest)[:MOST])
    found = []
    for pair in chosen:
        sides = layers(*pair)
        verdict = search.judged(*sides, [search.fit(side) for side in sides], pair in likely)
        if pair in likely and not verdict.differs:
            verdict = _of_norms(verdict)
        is_first = pair == at_first
        if verdict.differs or is_first:
            verdict = _of_common_inputs(recordings, theirs, verdict, bank, in_order, pairs)
        if is_first:
            verdict = _with_borrowed(recordings, theirs, verdict, bank, in_order)
        if not _is_certain(recordings, verdict, first):
            verdict = verdict._replace(differs=False, says=None, docs=None)
        found.append(verdict)
    if first is None:
        return found
    found = list(_of_own_inputs(recordings, theirs, found, first, pairs))
    return sorted(found + _of_optimizers(recordings, first), key=lambda v: v.a.place)


def _is_of_a_layer(recordings, i, j):
    """Whether neither array is a gradient, or a weight before or after a step."""
    names = recordings.a[i].name, recordings.b[j].name
    return not any(steps.moment(name) for name in names)


def _is_open(recordings, first, i, j):
    """Whether a pair is the first difference, or comes later and does not agree either.

    A pair that agrees only in another order counts as well: it may be wrong.
    """
    same = recordings.agreement(i, j)
    as_it_is = same is not None and same.proof and same.layout.order is None
    return i == first["a_place"] or (i > first["a_place"] and not as_it_is)


def with_later(recordings, layers, first, later):
    """The verdicts, and one on the former first difference if an earlier layer turned out wrong."""
    if later is None or later["a_place"] == first["a_place"] or not later["relation_holds"]:
        return layers
    i, j = later["a_place"], later["b_place"]
    pair = Layer(recordings.a, i), Layer(recordings.b, j)
    made = Verdict(*pair, None, None, True, later["relation"], pages.WEIGHTS)
    if any(layer.a.place == i and layer.differs for layer in layers):
        return layers
    others = [layer for layer in layers if layer.a.place != i]
    return sorted(others + [made], key=lambda layer: layer.a.place)


def _beside(recordings, first, pairs):
    """Yield pairs just before the first difference that do not agree, in another branch."""
    for i, j in pairs:
        near = first["a_place"] - BESIDE <= i < first["a_place"] and j < first["b_place"]
        if near and not recordings.agreement(i, j):
            yield i, j


def _of_norms(verdict):
    """The ``Verdict`` on two norms, if one side recorded only its last operation, a sum."""
    fits = verdict.a_fit, verdict.b_fit
    if None in fits or search.same_family(*fits) or not any(map(search.is_sum, fits)):
        return verdict
    norms = [search.norm(layer) for layer in (verdict.a, verdict.b)]
    return verdict if None in norms else search.judged(verdict.a, verdict.b, norms)


def _of_optimizers(recordings, first):
    """The ``Verdict`` on the first moved weight, if an earlier array is the first difference."""
    if steps.kind(first["a"])[0] in ("weight", "update"):
        return []
    known = None not in optimizer.sides(recordings)
    says = known and optimizer.explained(recordings)
    for i, j in sorted(recordings.named.items()) if says else ():
        if i > first["a_place"] and steps.kind(recordings.a[i].name)[:2] == ("weight", 1):
            pair = Layer(recordings.a, i), Layer(recordings.b, j)
            return [Verdict(*pair, None, None, True, says, pages.OPTIMISER)]
    return []


def _of_own_inputs(recordings, theirs, found, first, pairs):
    """Yield the verdicts; a later layer that is still unknown is explained by each side's inputs.

    Only pairs that are known by name are tried, and only if no family fits both sides.
    """
    scopes = by_scope(recordings, range(len(recordings.a)), range(len(recordings.b)))
    scopes = {pair for pair in scopes if pair in pairs}
    sure = [pair for pair in pairs if pair in scopes or recordings.same_name(*pair)]
    sure_names = {recordings.a[k].name for k, _ in sure}
    attentions = 0
    for verdict in found:
        i, j = verdict.a.place, verdict.b.place
        says = _in_another_order(recordings, first, i, j) if (i, j) in sure else None
        if says is not None:
            yield verdict._replace(differs=True, says=says, docs=pages.WEIGHTS)
            continue
        known = verdict.differs or None not in (verdict.a_fit, verdict.b_fit)
        if known and not verdict.differs:
            verdict = _with_fewer_inputs(recordings, verdict, sure)
        plain = steps.kind(recordings.a[i].name)[0] == "plain"
        if (
            known
            or not plain
            or (i, j) not in sure
            or not _is_later(recordings, theirs, first, i, j)
        ):
            yield verdict
            continue
        inputs = [(recordings.a[k], theirs[m]) for k, m in reversed(pairs) if k < i and m < j]
        inputs = [pair for pair in inputs if all(x.dtype.kind == "f" and x.finite for x in pair)]
        both = Both(verdict.a, verdict.b, [], (), inputs)
        others = [
            (recordings.a[k], theirs[m], (recordings.b[m].name, recordings.b[j].name))
            for k, m in sure
            if 0 < abs(k - i) <= BESIDE
        ]
        try:
            why = own.explain(both, others, sure_names)
            if why is None and attentions < ATTENTIONS:
                attentions += 1
                why = attended.explain(both, *FEW)
        except own.Same:
            why = None
        yield verdict._replace(differs=True, says=why.says, docs=why.docs) if why else verdict


def _in_another_order(recordings, first, i, j):
    """How B has A's values in another order after the first difference, in words; or None."""
    pair = recordings.pair(i, j)
    if pair is None or i <= first["a_place"] or not recordings.has_rows(i, j):
        return None
    a, b = recordings.a[i], recordings.b[j]
    if pair.layout.order is None or a.shape != b.shape:
        return None
    return "B is A, " + pair.layout.words(a, b)


def _with_fewer_inputs(recordings, verdict, sure):
    """The verdict; if one side's norm lacks an input, such as a residual, it says so.

    Each input of the side with fewer must have a counterpart among the other side's.
    """
    fits = verdict.a_fit, verdict.b_fit
    names = [[x.name for x in fit.case.inputs] for fit in fits]
    if any(fit.family is not normalisation for fit in fits) or len(names[0]) == len(names[1]):
        return verdict
    if recordings.agreement(verdict.a.place, verdict.b.place):
        return verdict
    pairs = {(recordings.a[i].name, recordings.b[j].name) for i, j in sure}
    more = len(names[1]) > len(names[0])
    pairs = pairs if not more else {(b, a) for a, b in pairs}
    fewer, others = names if more else names[::-1]
    if not all(any((other, name) in pairs for other in others) for name in fewer):
        return verdict
    says = "%s, in A; %s, in B" % tuple(map(search.function, fits))
    return verdict._replace(differs=True, says=says, docs=pages.WEIGHTS)


def _is_later(recordings, theirs, first, i, j):
    """Whether a pair after the first difference differs, and can be subtracted."""
    a, b = recordings.a[i], theirs[j]
    if i <= first["a_place"] or recordings.agreement(i, j) or a.shape != b.shape:
        return False
    return a.finite and b.finite and a.dtype.kind == "f" and a.size <= LARGEST


def _with_borrowed(recordings, theirs, verdict, bank, in_order):
    """The ``Verdict`` on the first difference, where a layer may use the other side's arrays.

    Everything that both sides recorded before it agrees. So an array that only one side recorded
    holds values that the other side has computed, too, as far apart as the arrays that agree.
    """
    if verdict.differs:
        return verdict
    i, j = verdict.a.place, verdict.b.place
    known = {pair.a for pair in recordings.pairs}, {pair.b for pair in recordings.pairs}
    ours = [recordings.a[k] for k in range(i - 1, -1, -1) if k not in known[0]][:BORROWED]
    others = [theirs[k] for k in range(j - 1, -1, -1) if k not in known[1]][:BORROWED]
    before = recordings.before(i, j)
    apart = max((pair.off / recordings.b[pair.b].scale for pair in before), default=0.0)
    pair = (
        Layer(recordings.a, i, bank, None, others, USUAL * apart),
        Layer(theirs, j, bank, in_order, ours, USUAL * apart),
    )
    fits = [fit or search.fit(layer) for fit, layer in zip((verdict.a_fit, verdict.b_fit), pair)]
    again = search.judged(*pair, fits)
    return again if again.differs else verdict


def _of_common_inputs(recordings, theirs, verdict, bank, in_order, pairs):
    """The ``Verdict`` from inputs that both sides recorded, if they explain both results.

    Operations inside a layer that only one side recorded, such as padding, hide the difference.
    """
    i, j = verdict.a.place, verdict.b.place
    known = [pair for pair in pairs if pair[0] < i and pair[1] < j]
    ours = [recordings.a[k] for k, _ in known] + [recordings.a[i]]
    others = [theirs[m] for _, m in known] + [theirs[j]]
    both = Layer(ours, len(known), bank), Layer(others, len(known), bank, in_order)
    fits = [search.fit(layer) for layer in both]
    return verdict if None in fits else search.judged(verdict.a, verdict.b, fits)


def _is_certain(recordings, verdict, first):
    """Whether two arrays surely belong together: by name, by value, or as the first difference.

    Later pairs are matched by shape and place only; there, B's array may lack a counterpart.
    """
    i, j = verdict.a.place, verdict.b.place
    if not verdict.differs or recordings.same_name(i, j) or recordings.agreement(i, j):
        return True
    if first is not None and (i, j) == (first["a_place"], first["b_place"]):
        return True
    fits = verdict.a_fit, verdict.b_fit
    if any(search.copies(fit) or search.is_sum(fit) for fit in fits):
        return False
    # One of B's next arrays may be A's layer, and this one a part of it, as a sigmoid is of a SiLU.
    b = recordings.b[j]
    for k in range(j + 1, min(j + 1 + PARTS, len(recordings.b))):
        if recordings.b[k].size == b.size:
            found = search.fit(Layer(recordings.b, k))
            if found is not None and search.same_family(found, fits[0]):
                if found.constants == fits[0].constants:
                    return False
    return True


def alone(recordings, difference):
    """Yield (side, ``Fit``) of layers that only one side recorded before the first difference."""
    sides = (("A", recordings.a, "a_place"), ("B", recordings.b, "b_place"))
    pairs = recordings.pairs[: difference["agree_before"]]
    for n, (side, arrays, place) in enumerate(sides):
        start, known = pairs[-1][n] + 1 if pairs else 0, set()
        names = {arrays[pair[n]].name for pair in recordings.pairs}
        for k in range(max(start, difference[place] - 4), difference[place]):
            found = search.origin(search.fit(Layer(arrays, k)), names)
            if found is None or found.family is combination or str(found.case.layer) in known:
                continue
            known.add(str(found.case.layer))
            yield side, found


def explanation(recordings, difference, layers):
    """The cause of the first difference, if the constants of its layers do not show it; or None."""
    i, j = difference["a_place"], difference["b_place"]
    says = gradients.explained(recordings, difference)
    if says is not None:
        return Explanation(says, pages.OPTIMISER)
    if steps.kind(difference["a"])[0] == "gradient":
        says = clipping.explained(recordings.a, recordings.b)
        if says is not None:
            return Explanation(says, pages.OPTIMISER)
        says = tied.explained(recordings, difference)
        if says is not None:
            return Explanation(says, pages.WEIGHTS)
    says = running.frozen(recordings) if steps.moment(difference["a"]) else None
    if says is not None:
        return Explanation(says, pages.RUNNING)
    for layer in layers:
        if (layer.a.place, layer.b.place) == (i, j) and not difference["relation_holds"]:
            says = causes.explained(recordings, layer)
            if says is not None:
                return Explanation(says, None)
    if steps.kind(difference["a"])[0] in ("weight", "update"):
        says = running.explained(recordings)
        if says is not None and running.is_statistic(recordings, difference):
            return Explanation(says, pages.RUNNING)
        says = optimizer.explained(recordings)
        return says and Explanation(says, pages.OPTIMISER)
    a, b = recordings.a[i], as_in_a(recordings, counterparts(recordings))[0][j]
    if a.size == b.size and a.shape != b.shape and a.shape[-1:] == b.shape[-1:]:
        b = copy.copy(b)  # a dense layer may flatten the axes before the last one
        b.values, b.shape = full(b).reshape(a.values.shape), a.shape
    if not (a.shape == b.shape and a.finite and b.finite) or a.size > LARGEST:
        return None
    before = recordings.before(i, j)
    agreeing = [recordings.a[pair.a] for pair in before]
    inputs = [x for x in reversed(agreeing) if x.dtype.kind == "f" and x.finite]
    theirs = list(recordings.b)
    theirs[j] = b
    start = before[-1] if before else (-1, -1)
    alone = recordings.a[start[0] + 1 : i] + recordings.b[start[1] + 1 : j]
    both = Both(Layer(recordings.a, i), Layer(theirs, j), inputs, alone)
    with np.errstate(all="ignore"):
        return between.explain(both, difference["relation_holds"])


def weights(recordings):
    """The weights that one side recorded; both sides are tried with the same ones."""
    for arrays in (recordings.a, recordings.b):
        rows = arrays[0].shape[0] if arrays[0].shape else 1
        found = [x for x in arrays if x.shape and rows != x.shape[0] and x.finite]
        found = [x for x in found if x.dtype.kind == "f" and len(x.shape) <= 4]
        if any(len(x.shape) > 1 for x in found):
            return found
    return []


def counterparts(recordings):
    """[(place in A, place in B)] of all arrays that are equal, or should be."""
    return recordings.of_pairs(_counterparts)


def _counterparts(recordings):
    pairs = [pair[:2] for pair in recordings.pairs]
    for before, ours, theirs in recordings.gaps():
        new = set(recordings.only_in_a(ours)), set(recordings.only_in_b(theirs))
        for i in ours:
            j = recordings.named.get(i)
            if j in theirs and not recordings.agreement(i, j):
                new[0].add(i)
                new[1].add(j)
        ours, theirs = sorted(new[0]), sorted(new[1])
        pairs += [(i, j) for i, j, _ in matched(recordings, ours, theirs, before)]
    return sorted(pairs)


def jumps(recordings):
    """Pairs that agree, but are much further apart than all before them."""
    usual = 0.0
    for pair in recordings.pairs:
        a, b = recordings.a[pair.a], recordings.b[pair.b]
        if not recordings.agreement(pair.a, pair.b).proof or not b.spread:
            continue
        off = pair.off / b.spread
        least = LEAST * max(a.epsilon, b.epsilon) * max(a.rms, b.rms) / b.spread
        if off > max(USUAL * usual, least):
            yield pair[:2]
        usual = max(usual, off)


def masks(recordings):
    """Yield pairs that agree and mask with another value: places in A and B, values in words."""
    for pair in recordings.pairs:
        ours, theirs = recordings.a[pair.a].mask, recordings.b[pair.b].mask
        if ours is not None and theirs is not None:
            words = mask_words(ours.value), mask_words(theirs.value)
            if words[0] != words[1]:
                yield pair.a, pair.b, words[0], words[1]


def as_in_a(recordings, pairs):
    """(B's arrays with their axes in A's order, the names of those whose values are in A's order).

    An array whose order of axes is unknown is left as it is. One of another size than A's has the
    order of a pair that agrees, if that gives it A's channels.
    """
    arrays, in_order = list(recordings.b), set()
    known = {pair[:2]: pair.layout for pair in recordings.pairs}
    usual = {}
    for layout in known.values():
        usual.setdefault(len(layout.axes), OrderedDict())[layout.axes] = None
    for i, j in pairs:
        a, b = recordings.a[i], recordings.b[j]
        layout = known.get((i, j))
        candidates = [layout.axes] if layout is not None else usual.get(b.values.ndim, [])
        if layout is not None:
            if layout.flipped or layout.order is not None:
                continue
            if len(layout.axes) == b.values.ndim:
                in_order.add(b.name)
        for order in candidates:
            if len(order) != b.values.ndim or a.values.ndim != b.values.ndim:
                continue
            moved = b.values.transpose(np.argsort(order))
            shape, axes = a.shape, a.axes
            if a.values.size != b.values.size and len(b.axes) == len(b.shape):
                shape, axes = a.shape[:2] + moved.shape[2:], b.axes
            if moved.shape == tuple(shape[axis] for axis in axes):
                arrays[j] = copy.copy(b)
                arrays[j].values, arrays[j].shape, arrays[j].axes = moved, shape, axes
                break
    return arrays, in_order
