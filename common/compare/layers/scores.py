"""Scores of attention, or their softmax, from recorded queries and keys: scale and mask."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import softmax
from common.compare.layers import docs as pages
from common.compare.layers.layer import VALUES, Case, full, number, size

MASKED = -1e30
MASKS = OrderedDict(
    [
        (None, "all tokens"),
        (0, "itself and all before it"),
        (1, "1 after it, too"),
        (-1, "all before it"),
    ]
)


def cases(layer):
    """(batch, heads, queries, keys) of earlier (batch, heads, tokens, width)."""
    y = layer.output
    if len(y.shape) != 4 or not y.spread or y.whole:
        return
    near = [x for x in layer.earlier() if len(x.shape) == 4 and x.shape[:2] == y.shape[:2]][:4]
    each = y.shape[2] * y.shape[3]
    some = slice(0, max(1, VALUES // (each * y.shape[1]))), slice(0, max(1, VALUES // each))
    for k, q in itertools.permutations(near, 2):
        if (q.shape[2], k.shape[2]) == y.shape[2:] and q.shape[3] == k.shape[3]:
            q2, k2, target = (full(x)[some].astype(np.float64) for x in (q, k, y))
            products = np.matmul(q2, k2.transpose(0, 1, 3, 2))
            yield Case(layer, [q, k], x=products, y=target, width=q.shape[3])


def options(case):
    """The usual scales, and the one that fits; every mask, if tokens see each other."""
    square = case.y.shape[2] == case.y.shape[3]
    chances = case.y.min() >= 0 and np.abs(case.y.sum(-1) - 1).max() < 1e-2
    for after in ("softmax",) if chances else ("",):
        for scale in (case.width**-0.5, 1.0, case.width**-1.0):
            for mask in MASKS if square and chances else (None,):
                yield OrderedDict(scale=scale, mask=mask, after=after)


def off(case, constants):
    """The distance."""
    scores = case.x * constants["scale"]
    if not constants["after"]:
        there = case.y > -1e4  # others are masked
        return size((scores - case.y)[there])
    if constants["mask"] is not None:
        if case.y.shape[2] != case.y.shape[3]:
            return np.inf
        seen = np.tril(np.ones(case.y.shape[2:], bool), constants["mask"])
        scores = np.where(seen, scores, MASKED)
    return size(softmax(scores, -1) - case.y)


def words(constants):
    """Scale and mask in words."""
    says = "scores of attention"
    if constants["after"]:
        says += " where a token sees %s" % MASKS[constants["mask"]]
    return says + ", scale %s" % number(constants["scale"])


def docs(a, b):
    """The page's anchor."""
    return pages.MASK if a["mask"] != b["mask"] else pages.ATTENTION_SCALE
