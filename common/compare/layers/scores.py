"""Scores of attention, or their softmax, from recorded queries and keys.

Rotary embeddings, heads that share a key in one order or the other, and a cap are tried; the scale
is fitted, and the mask is read from the output's zeros.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import softmax
from common.compare.layers import attention, rotary
from common.compare.layers import docs as pages
from common.compare.layers.layer import VALUES, Case, full, number, size

LOWEST = -1e4  # scores below are masked
TINY = 1e-12  # of probabilities: smaller ones have few digits
NEARLY = 0.02  # of the scores' spread
NEAR = 4  # queries or keys that are tried
TURNS = ((None, None), *itertools.product(("halves", "pairs"), rotary.BASES))
FAR = 0.7  # of the spread: a cap leaves no more
CAPS = (50.0, 30.0, 20.0, 15.0, 10.0, 5.0)
MASKS = OrderedDict(
    [
        (None, "all tokens"),
        (0, "itself and all before it"),
        (1, "1 after it, too"),
        (-1, "all before it"),
    ]
)


def cases(layer):
    """(batch, heads, queries, keys) of earlier queries and keys, in heads or not yet."""
    y = layer.output
    if len(y.shape) != 4 or not y.spread or y.whole or min(y.shape[2:]) < 2:
        return
    if not _is_chance(y.values) and y.shape[2] == y.shape[3] == layer.rows:
        return
    near = [x for x in layer.earlier() if x.shape[0] == y.shape[0] and len(x.shape) in (3, 4)]
    some = _some(y.shape)
    target = full(y)[some].astype(np.float64)
    chance = _is_chance(target)
    with np.errstate(divide="ignore"):
        logs = np.log(target) if chance else target
    for q, k in itertools.permutations(near[: 2 * NEAR], 2):
        for queries, keys, shared in _in_heads(q, k, y.shape):
            yield Case(
                layer,
                [q, k],
                q=queries[some].astype(np.float64),
                k=keys[some].astype(np.float64),
                y=target,
                logs=logs,
                chance=chance,
                shared=shared,
                products={},
            )


def _is_chance(values):
    return values.min() >= 0 and np.abs(values.sum(-1) - 1).max() < 1e-2


def _some(shape):
    """The observations and heads that are looked at."""
    each = shape[2] * shape[3]
    return slice(0, max(1, VALUES // (each * shape[1]))), slice(0, max(2, VALUES // each))


def _in_heads(q, k, shape):
    """Yield (queries, keys, how keys are shared), each (batch, heads, tokens, width)."""
    heads, tokens = shape[1], shape[2:]
    for queries in _split(full(q), tokens[0], [heads]):
        width = queries.shape[3]
        for keys in _split(full(k), tokens[1], range(1, heads + 1), width):
            group = heads // keys.shape[1]
            if keys.shape[1] == heads:
                yield queries, keys, None
            elif group * keys.shape[1] == heads and keys.shape[1] > 1:
                yield queries, np.repeat(keys, group, 1), "repeated"
                yield queries, np.tile(keys, (1, group, 1, 1)), "tiled"
            elif group == heads:
                yield queries, np.repeat(keys, group, 1), None


def _split(x, tokens, heads, width=None):
    """Yield x as (batch, heads, tokens, width)."""
    if x.ndim == 3 and x.shape[1] == tokens:
        for count in heads:
            each = x.shape[2] // count
            if each * count == x.shape[2] and each > 1 and width in (None, each):
                yield x.reshape(x.shape[0], tokens, count, each).transpose(0, 2, 1, 3)
    elif x.ndim == 4 and x.shape[3] > 1 and width in (None, x.shape[3]):
        if x.shape[2] == tokens and x.shape[1] in heads:
            yield x
        elif x.shape[1] == tokens and x.shape[2] in heads:
            yield x.transpose(0, 2, 1, 3)


def options(case):
    """Every turn and cap whose scores are the recorded ones times a number."""
    mask = _mask(case)
    there = case.y[:1] > (TINY if case.chance else LOWEST)
    logs = _centred(case.logs[:1], there, case.chance)
    for by, base in TURNS:
        for scale, cap in _scales(case, there, logs, _multiplied(case, by, base, slice(0, 1))):
            constants = OrderedDict(by=by, base=base, scale=scale, mask=mask, cap=cap)
            constants.update(heads=case.q.shape[1])
            constants.update(shared=case.shared, after="softmax" if case.chance else "")
            yield constants


def _scales(case, there, y, products):
    """Yield (scale, cap) that fit one observation's scores y, made of its products."""
    if products is None:
        return
    x = _centred(products, there, case.chance)
    scale = (x * y).sum() / max((x**2).sum(), 1e-300)
    left, usual = size(y - scale * x), [case.q.shape[3] ** -0.5, 1.0]
    if left <= NEARLY * size(y):
        yield ([s for s in usual if abs(scale / s - 1) < 1e-4] or [scale])[0], None
    if left > FAR * size(y):
        return
    for scale, cap in itertools.product(usual, CAPS):
        made = _centred(cap * np.tanh(products * scale / cap), there, case.chance)
        if size(y - made) <= min(1e-4 * size(y), 0.1 * left):
            yield scale, cap


def _centred(x, there, rows):
    """The scores that are not masked; minus each row's mean, which a softmax does not show."""
    x = np.where(there, x, 0)
    if not rows:
        return x
    mean = x.sum(-1, keepdims=True) / np.maximum(there.sum(-1, keepdims=True), 1)
    return np.where(there, x - mean, 0)


def _products(case, by, base):
    """Queries times keys of all that is looked at."""
    if (by, base) not in case.products:
        case.products[by, base] = _multiplied(case, by, base, slice(None))
    return case.products[by, base]


def _multiplied(case, by, base, some):
    """Queries times keys of some observations, turned by their places; None if they cannot be."""
    q, k = case.q[some], case.k[some]
    if by is not None:
        if q.shape[3] % 2:
            return None
        q, k = (rotary.turned(x, by, base) for x in (q, k))
    return np.matmul(q, k.transpose(0, 1, 3, 2))


def _mask(case):
    """How many places after itself a token sees; (that, window), None for all, or "other"."""
    if not case.chance:
        return None
    seen = case.y > 0
    if seen.all():
        return None
    queries, keys = seen.shape[2:]
    place = np.arange(keys) - np.arange(queries)[:, None]
    ahead = int(np.where(seen.any((0, 1)), place, -keys).max())
    back = int(np.where(seen.any((0, 1)), place, keys).min())
    if (seen == (place <= ahead)).all():
        return ahead
    if (seen == ((place <= ahead) & (place >= back))).all():
        return ahead, ahead - back + 1
    return "other"


def off(case, constants):
    """The distance."""
    products = _products(case, constants["by"], constants["base"])
    wrong = (
        constants["shared"] != case.shared
        or constants["heads"] != case.q.shape[1]
        or bool(constants["after"]) != case.chance
    )
    if products is None or wrong:
        return np.inf
    scores, cap = products * constants["scale"], constants["cap"]
    if cap is not None:
        scores = cap * np.tanh(scores / cap)
    if not case.chance:
        there = case.y > LOWEST  # others are masked
        return size((scores - case.y)[there])
    scores = np.where(_seen(case, constants["mask"]), scores, attention.MASKED)
    return size(softmax(scores, -1) - case.y)


def _seen(case, mask):
    """Which keys each query sees under a mask."""
    queries, keys = case.y.shape[2:]
    place = np.arange(keys) - np.arange(queries)[:, None]
    if mask is None:
        return np.ones((queries, keys), bool)
    if mask == "other":
        return case.y > 0
    if isinstance(mask, tuple):
        return (place <= mask[0]) & (place > mask[0] - mask[1])
    return place <= mask


def words(constants):
    """The scores in words, with all their constants."""
    says = "scores of attention of %d heads" % constants["heads"]
    if constants["after"]:
        says += " where a token sees %s" % _mask_words(constants["mask"])
    if constants["by"]:
        says += ", rotary by %s, base %s" % (constants["by"], number(constants["base"]))
    if constants["shared"]:
        says += ", heads %s" % constants["shared"]
    if constants["cap"]:
        says += ", capped at %s" % number(constants["cap"])
    return says + ", scale %s" % number(constants["scale"])


def _mask_words(mask):
    if isinstance(mask, tuple):
        ahead = "itself included" if mask[0] == 0 else "up to %d after it" % mask[0]
        return "%d tokens, %s" % (mask[1], ahead)
    if mask == "other":
        return "what a mask leaves"
    return MASKS.get(mask, "up to %s after it" % mask)


def docs(a, b):
    """The page's anchor."""
    if a["mask"] != b["mask"]:
        return pages.MASK
    if a["by"] != b["by"]:
        return pages.ROTARY
    return pages.ROTARY_BASE if a["base"] != b["base"] else pages.ATTENTION_SCALE
