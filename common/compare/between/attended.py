"""Attentions of the same recorded queries, keys and values, or dense layers of such attentions.

For each side, one scale and mask after another is tried, until one gives its numbers. The weight of
a dense layer after the attention need not be recorded, if both sides together have more rows than
it has inputs: one weight must map both contexts to both results. If no usual attention fits, one
side may have a window, other heads, a softmax over the wrong axis or in bfloat16, or heads joined
in another order.
"""

import itertools
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from common.compare.between import contexts, dense, transposed
from common.compare.between.both import Explanation
from common.compare.layers import attention
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

NEAR = 6  # earlier arrays that may be queries, keys and values
LIMIT = 1e-5  # of the result's spread
SPARE = 8  # rows of a result that show a dense layer's bias
WEIGHTS = 4  # recorded ones that are tried
SOURCES = 24
VALUES = 2**16  # scores that are computed
WIDEST = 256  # context before an unknown weight
SPARE_ROWS = 1.1  # rows of both sides for each unknown of an output
FEW = 4  # columns of a result that are tried first
SIDES = (0, 1)
PARTS, HEADS = "queries, keys and values", "heads"  # what a fused array holds first
BEST = 32  # contexts of a side that are tried with an unknown weight, the likeliest
FIRST = 8  # sources, the likeliest, that are tried with an unknown weight


class Sources(NamedTuple):
    """Arrays that may be queries, keys and values, (batch, tokens, width) each.

    names: where they come from, in words. first: whether a fused array holds all queries first, or
    all of the first head.
    """

    names: str
    parts: list
    first: str = PARTS


def explain(both, most=SOURCES, unknown=FIRST):
    """An ``Explanation`` if the attentions of both sides are known and differ.

    most: how many choices of sources are tried. unknown: how many of them with an unknown weight.
    """
    y = both.ours
    if y.ndim != 3 or y.shape[-1] < 8 or y.shape[1] < 3:
        return None
    choices = list(itertools.islice(_choices(both), most))
    with np.errstate(all="ignore"):
        shown = [_shown(both, side, choices) for side in SIDES]
        if None in shown:
            shown = _with_one_weight(both, choices[:unknown], unusual=most == SOURCES)
    if None in shown or shown[0] == shown[1]:
        return None
    words = [_words(constants) for constants in shown]
    differing = [
        " and ".join(word for word, other in zip(*pair) if word != other)
        for pair in (words, words[::-1])
    ]
    says = "attention: %s in A, %s in B" % tuple(differing)
    return Explanation(says, _page(*shown))


def _page(ours, theirs):
    """The docs' anchor of what differs."""
    parts = (("precision", pages.ROUNDED), ("scale", pages.ATTENTION_SCALE))
    parts += (("width", pages.ATTENTION_SCALE),)
    parts += (("bias", pages.POSITIONS), ("heads", pages.WEIGHTS), ("joined", pages.WEIGHTS))
    parts += (("first", pages.WEIGHTS),)
    parts += (("turn", pages.ROTARY), ("shared", pages.SHARED), ("transposed", pages.WEIGHTS))
    for part, page in parts:
        if ours[part] != theirs[part]:
            return page
    windows = any(isinstance(side["seen"], tuple) for side in (ours, theirs))
    return pages.WINDOW if windows else pages.MASK


def _choices(both):
    """Yield (heads, [the ``Sources`` of A, of B])."""
    batch, _, width = both.ours.shape
    pairs = [p for p in both.pairs if len(p[0].shape) == 3 and p[0].shape[0] == batch]
    pairs = [(x, z) for x, z in pairs if x.shape == z.shape]
    for pair in pairs[:NEAR]:
        if pair[0].shape[2] == 3 * width:
            for heads in attention.heads_of(width)[:5]:
                for first in (PARTS, HEADS) if heads > 1 else (PARTS,):
                    yield heads, [_fused(x, heads, first) for x in pair]
    near = [pair for pair in pairs[:NEAR] if width % pair[0].shape[2] == 0]
    for v, k, q in itertools.permutations(near[:4], 3):
        if q[0].shape[1:] == both.ours.shape[1:] and k[0].shape == v[0].shape:
            names = "%s, %s and %s" % (q[0].name, k[0].name, v[0].name)
            parts = [Sources(names, [full(pair[side]) for pair in (q, k, v)]) for side in SIDES]
            for heads in attention.heads_of(width)[:3]:
                if k[0].shape[2] % (width // heads) == 0:  # heads may share keys and values
                    yield heads, parts


def _fused(array, heads, first):
    """The ``Sources`` in an array that holds queries, keys and values side by side."""
    x = full(array)
    if first == PARTS:
        return Sources(array.name, np.split(x, 3, -1))
    parts = x.reshape(x.shape[:2] + (heads, 3, -1))
    return Sources(
        array.name, [parts[..., n, :].reshape(x.shape[:2] + (-1,)) for n in range(3)], first
    )


def _shown(both, side, choices):
    """The constants of the attention that gives a side's result; None if none does."""
    projections = list(_projections(both))
    for unusual, (heads, sources) in itertools.product((False, True), choices):
        found = _first(both, side, heads, sources, projections, unusual)
        if found is not None:
            return found
    return None


def _first(both, side, heads, sources, projections, unusual):
    """The constants for one choice of heads and sources; None if none fit."""
    wanted = (both.ours, both.theirs)[side]
    some = slice(0, max(1, VALUES // (wanted.shape[1] * sources[0].parts[1].shape[1] * heads)))
    if projections == [None]:  # one observation shows quickly that no context is the result
        first = contexts.contexts(both, side, heads, sources, slice(0, 1), unusual)
        if not any(_is(made, None, wanted[:1]) for _, made in first):
            return None
    for constants, made in contexts.contexts(both, side, heads, sources, some, unusual):
        if any(_is(made, weight, wanted[some]) for weight in projections):
            return constants
    return None


def _with_one_weight(both, choices, unusual):
    """The constants of A's and B's attention, which differ in one at most; else [None, None].

    unusual: whether one side's may be unusual, if no usual ones fit.
    """
    width = both.ours.shape[-1]
    count = int(SPARE_ROWS * width) + 1  # of each side, as some may be masked
    if width > WIDEST or 2 * both.ours[..., 0].size < count:
        return [None, None]
    some = slice(0, -(-count // both.ours.shape[1]))
    results = [y[some].reshape(-1, width) for y in (both.ours, both.theirs)]

    def rows(side, heads, sources, like=None):
        made = contexts.contexts(both, side, heads, sources, some, like is not None, like)
        made = [(constants, x.reshape(-1, x.shape[-1])) for constants, x in made]
        made.sort(key=lambda context: -_suits(context[1], results[side]))
        return made[:BEST]

    usual = [[rows(side, *choice) for side in SIDES] for choice in choices]
    for a, b in usual:
        for apart in (0, 1):
            found = _pair(a, b, apart, results)
            if found is not None:
                return found
    for n, (heads, sources) in enumerate(choices if unusual else ()):
        strange = [rows(side, heads, sources, like=usual[n][1 - side]) for side in SIDES]
        for m, (_, others) in enumerate(choices):  # the same with other heads
            if m != n and others[0].names == sources[0].names:
                strange = [more + usual[m][side] for side, more in enumerate(strange)]
        for a, b in ((usual[n][0], strange[1]), (strange[0], usual[n][1])):
            found = _pair(a, b, 1, results)
            if found is not None:
                return found
    return [None, None]


def _suits(rows, result):
    """The correlation of the products of a context's rows with those of the result's rows."""
    kept = np.isfinite(rows).all(1)
    if not kept.any():
        return -1.0
    tables = (x[kept] - x[kept].mean(0) for x in (rows, result))
    ours, theirs = (np.dot(x, x.T) for x in tables)
    return (ours * theirs).sum() / np.sqrt((ours**2).sum() * (theirs**2).sum() + 1e-300)


def _pair(a, b, apart, results):
    """The constants of contexts in a and b that differ in ``apart`` constants; None if none fit."""
    for (ours, x), (theirs, z) in itertools.product(a, b):
        if sum(ours[key] != theirs[key] for key in ours) != apart:
            continue
        if _make(x, z, results):
            return [ours, theirs]
        if not apart and _is_transposed(x, z, results):
            return [ours, OrderedDict(theirs, transposed=True)]
    return None


def _is_transposed(x, z, results):
    """Whether a square weight maps the context x to A's result and, transposed, z to B's."""
    if x.shape[1] != results[0].shape[1]:
        return False
    kept = [np.isfinite(rows).all(1) for rows in (x, z)]
    x, z, ours, theirs = x[kept[0]], z[kept[1]], results[0][kept[0]], results[1][kept[1]]
    return min(len(x), len(z)) >= SPARE and transposed.is_transposed(x, z, ours, theirs)


def _make(x, z, results):
    """Whether one weight maps the context x to A's result, and z to B's."""
    kept = [np.isfinite(rows).all(1) for rows in (x, z)]
    x, z = x[kept[0]], z[kept[1]]
    if len(x) + len(z) < SPARE_ROWS * x.shape[1] + 1:
        return False
    y = np.concatenate([results[0][kept[0]], results[1][kept[1]]])
    few = y[:, :: max(1, y.shape[1] // FEW)]  # most contexts already fail on these
    rows = np.concatenate([x, z])
    return dense.weight(rows, few) is not None and dense.weight(rows, y) is not None


def _is(made, weight, wanted):
    """Whether a context, or a dense layer of it with a bias, is the result."""
    known = np.isfinite(made).all(-1)
    made, wanted = made[known], wanted[known]
    y = made if weight is None else np.dot(made, weight)
    left = wanted - y
    if not len(left):
        return False
    if weight is not None:
        if len(left) < SPARE:
            return False
        left = left - left.mean(0)
    return size(left) <= LIMIT * size(wanted)


def _projections(both):
    """Yield None, for the context itself, and (in, out) weights of the right size."""
    yield None
    shape = both.ours.shape[-1:] * 2
    near = list(reversed(both.alone)) + both.a.arrays
    weights = (x for x in near if x.shape == shape and x.dtype.kind == "f" and x.finite)
    for x in itertools.islice(weights, WEIGHTS):
        yield full(x).astype(np.float64)
        yield full(x).astype(np.float64).T


def _words(constants):
    """The constants in words: inputs, heads, scale, bias, mask and what is unusual."""
    seen, over = constants["seen"], constants["over"]
    bands = {None: "all tokens (later ones are not masked)", 0: "itself and all before it"}
    bands.update({1: "1 after it, too", -1: "all before it alone"})
    if isinstance(seen, tuple):
        window = seen[1], seen[1] - 1
        bands[seen] = "a window of %d tokens alone, itself and the %d before it" % window
    return [
        "queries, keys and values from " + constants["of"],
        "%d heads" % constants["heads"],
        "the fused array holds %s first" % constants["first"],
        "the scores are scaled by " + constants["scale"].format(constants["width"]),
        constants["bias"],
        constants["mask"],
        "a token sees " + bands[seen],
        "the softmax is over the %s" % ("keys" if over == contexts.KEYS else "queries"),
        "the softmax is in %s" % constants["precision"],
        "the square weight after it " + ("transposed" if constants["transposed"] else "as it is"),
        constants["turn"],
        "heads that share keys and values %s" % constants["shared"],
        "heads joined in the order %s"
        % ("heads, tokens" if constants["joined"] else "tokens, heads"),
    ]
