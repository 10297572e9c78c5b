"""Attentions of the same queries, keys and values that were recorded, or dense layers of them.

Each side is computed with one scale and mask after another: one of them gives its numbers. If a
dense layer follows whose weight was not recorded, both sides together have more rows than it has
inputs: one weight must make both results of both contexts.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.between import dense
from common.compare.between.both import Explanation
from common.compare.functions import softmax
from common.compare.layers import attention
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

MASKED = -1e30
NEAR = 6  # earlier arrays that may be queries, keys and values
LIMIT = 1e-5  # of the result's spread
SPARE = 8  # rows of a result that show a dense layer's bias
SCALES = ("1 / root of a head's width", "1", "1 / a head's width")
CAUSAL = (None, 0, 1, -1)
WEIGHTS = 4  # recorded ones that are tried
SOURCES = 24
VALUES = 2**16  # scores that are looked at
BIASES = 3
WIDEST = 256  # context whose weight is unknown
SPARE_ROWS = 1.1  # rows of both sides for each unknown of an output
FIRST = 6  # sources, the likeliest, that are tried with an unknown weight


def explain(both):
    """What attention each side computes, if both are known and differ."""
    y = both.ours
    if y.ndim != 3 or y.shape[-1] < 8 or y.shape[1] < 3:
        return None
    sources = list(itertools.islice(_sources(both), SOURCES))
    shown = [
        next((found for found in (_first(both, *given, z) for given in sources) if found), None)
        for z in (both.ours, both.theirs)
    ]
    if None in shown:
        shown = _with_one_weight(both, sources[:FIRST])
    if None in shown or shown[0] == shown[1]:
        return None
    words = [_words(constants) for constants in shown]
    differing = [
        " and ".join(word for word, other in zip(*pair) if word != other)
        for pair in (words, words[::-1])
    ]
    says = "attention: %s in A, %s in B" % tuple(differing)
    anchor = pages.MASK
    for part, page in (("scale", pages.ATTENTION_SCALE), ("bias", pages.POSITIONS)):
        anchor = page if shown[0][part] != shown[1][part] else anchor
    return Explanation(says, anchor)


def _sources(both):
    """Yield (heads, (names, queries, keys, values)) of earlier arrays that both sides have."""
    batch, _, width = both.ours.shape
    inputs = [x for x in both.inputs if len(x.shape) == 3 and x.shape[0] == batch]
    for x in inputs[:NEAR]:
        if x.shape[2] == 3 * width:
            q, k, v = np.split(full(x), 3, -1)
            for heads in attention.heads_of(width)[:5]:
                yield heads, (x.name, q, k, v)
    near = [x for x in inputs[:NEAR] if x.shape[2] == width]
    for v, k, q in itertools.permutations(near[:4], 3):
        if k.shape == v.shape and q.shape[1] == both.ours.shape[1]:
            names = "%s, %s and %s" % (q.name, k.name, v.name)
            for heads in attention.heads_of(width)[:3]:
                yield heads, (names, full(q), full(k), full(v))


def _first(both, heads, sources, wanted):
    """The constants of the attention that gives a result; None if none does."""
    some = slice(0, max(1, VALUES // (wanted.shape[1] * sources[2].shape[1] * heads)))
    projections = list(_projections(both, wanted.shape))
    for constants, made in _contexts(both, heads, sources, some):
        if any(_is(made, weight, wanted[some]) for weight in projections):
            return constants
    return None


def _contexts(both, heads, sources, some):
    """Yield (constants, context) of some observations, with each scale, bias and mask."""
    q, k, v = (attention.split(x[some].astype(np.float64), heads) for x in sources[1:])
    products = np.matmul(q, k.transpose(0, 1, 3, 2))
    each = q.shape[-1]
    scales = OrderedDict(zip(SCALES, (each**-0.5, 1.0, 1.0 / each)))
    masks = list(_masks(both, products.shape, some))
    biases = list(_biases(both, products.shape))
    for scale, bias, mask, causal in itertools.product(
        SCALES, biases, masks, CAUSAL if products.shape[2] == products.shape[3] else (None,)
    ):
        scores = products * scales[scale]
        scores = scores if bias[1] is None else scores + bias[1]
        scores = scores if mask[1] is None else np.where(mask[1], scores, MASKED)
        if causal is not None:
            scores = np.where(np.tril(np.ones(scores.shape[2:], bool), causal), scores, MASKED)
        made = np.matmul(softmax(scores, -1), v).transpose(0, 2, 1, 3)
        constants = OrderedDict(of=sources[0], scale=scale, bias=bias[0])
        constants.update(mask=mask[0], causal=causal)
        yield constants, made.reshape(made.shape[:2] + (-1,))


def _with_one_weight(both, sources):
    """The constants of A's and B's attention, one of which differs; [None, None] if none fit."""
    width = both.ours.shape[-1]
    count = int(SPARE_ROWS * width / 2) + 1  # of each side
    if width > WIDEST or both.ours[..., 0].size < count:
        return [None, None]
    some = slice(0, -(-count // both.ours.shape[1]))
    results = np.concatenate([y[some].reshape(-1, width) for y in (both.ours, both.theirs)])
    for heads, named in sources:
        made = [
            (constants, context.reshape(-1, context.shape[-1]))
            for constants, context in _contexts(both, heads, named, some)
        ]
        for (ours, x), (theirs, z) in itertools.permutations(made, 2):
            if sum(ours[key] != theirs[key] for key in ours) != 1 or np.array_equal(x, z):
                continue
            if dense.weight(np.concatenate([x, z]), results) is not None:
                return [ours, theirs]
    return [None, None]


def _is(made, weight, wanted):
    """Whether a context, or a dense layer of it with a bias, is the result."""
    y = made if weight is None else np.dot(made, weight)
    left = (wanted - y).reshape(-1, wanted.shape[-1])
    if weight is not None:
        if len(left) < SPARE:
            return False
        left = left - left.mean(0)
    return size(left) <= LIMIT * size(wanted)


def _masks(both, shape, some):
    """Yield (name, places that are seen): of all keys, or of those that an array marks with 1."""
    yield "all keys are seen", None
    names = set()
    for x in both.a.arrays[: both.a.place]:
        if x.shape == (len(both.ours), shape[3]) and x.name not in names:
            values = full(x)[some]
            if np.isin(values, (0, 1)).all() and values.any() and not values.all():
                names.add(x.name)
                seen = values.astype(bool)[:, None, None]
                yield "%s masks keys" % x.name, seen
                yield "%s masks keys, where it is 1" % x.name, ~seen


def _biases(both, shape):
    """Yield (name, bias): none, or an earlier array with a number for each head and place."""
    yield "no bias", None
    wanted, count = (shape[1], shape[2], shape[3]), 0
    for x in list(reversed(both.a.arrays[: both.a.place])) + list(both.alone):
        values = full(x)
        if x.dtype.kind != "f" or not x.finite or values.size != np.prod(wanted):
            continue
        values = values.reshape([n for n in values.shape if n != 1] or [1])
        for axes in ((0, 1, 2), (2, 0, 1)) if values.ndim == 3 else ():
            if tuple(values.shape[axis] for axis in axes) == wanted:
                yield "a bias of relative positions", values.transpose(axes)[None]
                count += 1
                break
        if count == BIASES:
            return


def _projections(both, shape):
    """Yield None, for the context itself, and (in, out) weights of the right size."""
    yield None
    width, count = shape[-1], 0
    for x in list(reversed(both.alone)) + both.a.arrays:
        if x.shape == (width, width) and x.dtype.kind == "f" and x.finite:
            yield full(x).astype(np.float64)
            yield full(x).astype(np.float64).T
            count += 1
        if count == WEIGHTS:
            return


def _words(constants):
    """Its inputs, scale, bias and mask in words."""
    causal = {None: "no causal mask", 0: "a token sees itself and all before it"}
    more = {1: "a token sees 1 after it, too", -1: "a token sees all before it alone"}
    causal.update(more)
    scale = "the scores are scaled by " + constants["scale"]
    words = [scale, constants["bias"], constants["mask"], causal[constants["causal"]]]
    return ["queries, keys and values from " + constants["of"]] + words
