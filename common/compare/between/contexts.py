"""The contexts that attentions may compute from recorded queries, keys and values.

Usual attentions have one of a few scales, masks, biases of relative positions and rotary
embeddings; heads may share keys and values. Unusual ones have one more thing that may go wrong.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import bfloat16, softmax
from common.compare.layers import attention, rotary
from common.compare.layers.layer import full, marks

SCALES = (("1 / root of {}", -0.5), ("1", 0), ("1 / {}", -1))  # and the power of the width
EACH, WHOLE = "a head's width", "the whole width"
CAUSAL = (None, 0, 1, -1)  # how far after its own place a token sees; None: all tokens
WINDOWS = range(2, 33)  # tokens that one sees, its own included
BASIC = ("turn", "shared", "scale", "bias", "mask")  # what unusual attentions share
KEYS, QUERIES = -1, -2  # axes of the scores
BIASES = 4
OTHER_SIGN = "a bias of relative positions, whose distances have the other sign,"


def contexts(both, side, heads, sources, some, unusual=False, like=None):
    """Yield (constants, context) of some observations, with each scale, bias and mask.

    A token that sees no key becomes NaN: its result depends on the mask's value.
    like: [(constants, context)]; only contexts with the same ``BASIC`` constants as one of these.
    """
    q, k, v = (x[some].astype(np.float64) for x in sources[side].parts)
    each, few = q.shape[2] // heads, heads * k.shape[2] // q.shape[2]
    q, k, v = attention.split(q, heads), attention.split(k, few), attention.split(v, few)
    widths = {EACH: each, WHOLE: heads * each}
    products = OrderedDict(_products(q, k, v))
    shape = next(iter(products.values()))[0].shape
    basic = itertools.product(
        products, SCALES, _biases(both, side, shape), _masks(both, shape, some)
    )
    ways = list(_unusual(shape) if unusual else _usual(shape))
    bands = {way[0]: _band(shape, way[0]) for way in ways if way[0] is not None}
    wanted = like and {_basic(constants) for constants, _ in like}
    for (turn, shared), (scale, power), bias, mask in basic:
        constants = OrderedDict(turn=turn, shared=shared, scale=scale, bias=bias[0], mask=mask[0])
        if wanted and _basic(constants) not in wanted:
            continue
        product, values = products[turn, shared]
        scaled = {width: product * float(widths[width]) ** power for width in {w[-1] for w in ways}}
        for seen, over, joined, precision, width in ways:
            if width == WHOLE and (heads == 1 or power == 0):
                continue  # a usual scale
            scores = scaled[width] if bias[1] is None else scaled[width] + bias[1]
            there = True if mask[1] is None else mask[1]
            there = there if seen is None else there & bands[seen]
            masked = scores if there is True else np.where(there, scores, attention.MASKED)
            if precision == "bfloat16":
                made = np.matmul(bfloat16(softmax(bfloat16(masked).astype(float), over)), values)
            else:
                made = np.matmul(softmax(masked, over), values)
            if there is not True:
                made = np.where(there.any(-1, keepdims=True), made, np.nan)
            made = made if joined else made.transpose(0, 2, 1, 3)
            made = made.reshape(len(made), shape[2], -1)
            constants = OrderedDict(constants, of=sources[side].names, heads=heads, seen=seen)
            constants.update(
                first=sources[side].first,
                over=over,
                joined=joined,
                precision=precision,
                width=width,
                transposed=False,
            )
            yield constants, made


def _basic(constants):
    return tuple(constants[key] for key in BASIC)


def _products(q, k, v):
    """Yield ((rotary embedding, how heads share keys), (products, values))."""
    times = q.shape[1] // k.shape[1]
    for shared in ("repeated", "tiled") if 1 < k.shape[1] < q.shape[1] else ("repeated",):
        keys, values = (
            np.tile(x, (1, times, 1, 1)) if shared == "tiled" else np.repeat(x, times, 1)
            for x in (k, v)
        )
        for by, base in rotary.USUAL:
            if by and (q.shape[3] % 2 or q.shape[2] != k.shape[2]):
                continue
            ours, theirs = ((rotary.turned(x, by, base) if by else x) for x in (q, keys))
            turn = "rotary by %s, base %g" % (by, base) if by else "not rotary"
            yield (turn, shared), (np.matmul(ours, theirs.transpose(0, 1, 3, 2)), values)


def _usual(shape):
    """Yield (how far a token sees, the softmax's axis, whether heads come first, precision, width).

    heads come first: heads are joined before tokens. precision: that of the softmax. width: that
    by which the scores are scaled.
    """
    for seen in CAUSAL if shape[2] == shape[3] else CAUSAL[:1]:
        yield seen, KEYS, False, "float32", EACH


def _unusual(shape):
    """Yield the same with one unusual thing."""
    if shape[2] == shape[3]:
        for window in WINDOWS:
            if window < shape[3]:
                yield (0, window), KEYS, False, "float32", EACH
    for seen in CAUSAL[:2] if shape[2] == shape[3] else CAUSAL[:1]:
        yield seen, QUERIES, False, "float32", EACH
        yield seen, KEYS, True, "float32", EACH
        yield seen, KEYS, False, "bfloat16", EACH
        yield seen, KEYS, False, "float32", WHOLE


def _band(shape, seen):
    """The places that each token sees: all up to ``seen`` after it, or only a window of them."""
    everything = np.ones(shape[2:], bool)
    if isinstance(seen, tuple):
        after, window = seen
        return np.tril(everything, after) & ~np.tril(everything, after - window)
    return np.tril(everything, seen)


def _masks(both, shape, some):
    """Yield (name, which keys are seen): all, or those that an array marks by 1, or by 0."""
    yield "all keys are seen", None
    names = set()
    for x in both.a.arrays[: both.a.place]:
        if x.shape == (len(both.ours), shape[3]) and x.name not in names:
            values = full(x)[some]
            if marks(values):
                names.add(x.name)
                seen = values.astype(bool)[:, None, None]
                yield "%s masks keys" % x.name, seen
                yield "%s masks keys, where it is 1" % x.name, ~seen


def _biases(both, side, shape):
    """Yield (name, bias): none, or an earlier array with a number per head, query and key.

    The array is also tried with queries and keys exchanged, so that distances have the other sign.
    """
    yield "no bias", None
    wanted, known = (shape[1], shape[2], shape[3]), []
    layer = (both.a, both.b)[side] if both.own else both.a
    for x in list(reversed(layer.arrays[: layer.place])) + list(both.alone):
        values = full(x)
        if x.dtype.kind != "f" or not x.finite or values.size != np.prod(wanted):
            continue
        values = values.reshape([n for n in values.shape if n != 1] or [1])
        for axes in ((0, 1, 2), (2, 0, 1)) if values.ndim == 3 else ():
            bias = values.transpose(axes)
            if bias.shape == wanted and not any(np.allclose(bias, other) for other in known):
                known.append(bias)
                yield "a bias of relative positions", bias[None]
                if wanted[1] == wanted[2]:
                    known.append(bias.transpose(0, 2, 1))
                    yield OTHER_SIGN, known[-1][None]
        if len(known) >= BIASES:
            return
