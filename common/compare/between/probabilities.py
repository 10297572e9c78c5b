"""Probabilities: their logarithms show what happened to the scores before the softmax."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import number, size

SMALLEST = 1e-30
ALIKE = 0.02  # of a bias, by which observations may differ
LEAST = 0.02  # of a scale; a smaller difference more likely has a cause before the scale
WIDTHS = (8, 16, 32, 64, 80, 96, 128, 256)  # of a head


def explain(both):
    """An ``Explanation``: by the mask, a scale, a bias of each head and place, or none of these."""
    p, q = both.ours, both.theirs
    if p.ndim < 2 or p.shape[-1] < 3 or not all(_sums_to_one(x) for x in (p, q)):
        return None
    if ((p > SMALLEST) != (q > SMALLEST)).any():
        return _masks(p, q)
    there = (p > SMALLEST).astype(float)
    ours, theirs = (_centred(np.log(np.maximum(x, SMALLEST)), there) for x in (p, q))
    weight = np.sqrt(p) * there
    times = (ours * theirs * weight**2).sum() / max((ours**2 * weight**2).sum(), 1e-300)
    left = size((theirs - times * ours) * weight)
    if abs(times - 1) > LEAST and left < 0.002 * size((theirs - ours) * weight) + 1e-5:
        return Explanation(_scaled(times), pages.ATTENTION_SCALE)
    return _bias(p, q, there) or _unrelated()


def _bias(p, q, there):
    """An ``Explanation`` by a bias for each head, query and key; None unless it fits."""
    common = np.broadcast_to(there.min(0, keepdims=True), there.shape)
    if p.ndim != 4 or len(p) < 2 or not common.sum(-1).max() > 1:
        return None
    ours, theirs = (_centred(np.log(np.maximum(x, SMALLEST)), common) for x in (p, q))
    off = theirs - ours
    left = size(off - off.mean(0))
    if left > ALIKE * size(off) + 1e-5 or left > 0.1 * size(off):
        return None
    says = "a number for each head, query and key is added to the scores, the same for "
    says += "all observations: a bias of relative positions"
    return Explanation(says, pages.POSITIONS)


def _unrelated():
    """The ``Explanation`` that is left if mask and scale are the same."""
    says = "the same mask, but other scores: other queries or keys, by their weights, "
    says += "the order of their heads, their rotary embedding, or what comes before"
    return Explanation(says, pages.WEIGHTS)


def _sums_to_one(p):
    return p.min() >= 0 and np.abs(p.sum(-1) - 1).max() < 2e-2 and p.max() <= 1.01


def _centred(logs, there):
    """Each row minus its mean over the places that are there; 0 elsewhere."""
    count = np.maximum(there.sum(-1, keepdims=True), 1)
    return (logs - (logs * there).sum(-1, keepdims=True) / count) * there


def _scaled(times):
    says = "the scores are multiplied by %s before the softmax" % number(float("%.4g" % times))
    square = max(times, 1 / times) ** 2
    width = np.rint(square)
    if width in WIDTHS and abs(square / width - 1) < 1e-2:
        says += ": the root of %d, a head's width; " % width
        says += "one side scales by it, the other does not or does it twice"
    return says


def _masks(p, q):
    """How two masks differ."""
    ours, theirs = p > SMALLEST, q > SMALLEST
    tokens = p.shape[-2:]
    if tokens[0] == tokens[1]:
        bands = [_band(mask) for mask in (ours, theirs)]
        if None not in bands and bands[0] != bands[1]:
            says = "the mask: a token sees %s in A, %s in B" % tuple(_seen(k) for k in bands)
            return Explanation(says, pages.MASK)
    if (ours <= theirs).all() or (theirs <= ours).all():
        who = "A" if (ours <= theirs).all() else "B"
        says = "the mask: %s masks keys that the other does not" % who
        keys = np.flatnonzero((ours != theirs).any(tuple(range(p.ndim - 1))))
        rows = np.flatnonzero((ours != theirs).any(tuple(range(1, p.ndim))))
        says += ", keys %d to %d of observations %s" % (keys[0], keys[-1], _few(rows))
        return Explanation(says, pages.MASK)
    return Explanation("the mask: A and B mask other keys", pages.MASK)


def _few(rows):
    return ", ".join(str(n) for n in rows[:6]) + (", ..." if len(rows) > 6 else "")


def _band(mask):
    """By how many places a causal mask is shifted; None if the mask is not causal."""
    tokens = mask.shape[-1]
    for shift in range(-2, 3):
        if (mask == np.tril(np.ones((tokens, tokens), bool), shift)).all():
            return shift
    return tokens if mask.all() else None


def _seen(shift):
    if shift == 0:
        return "itself and all before it"
    if shift < 0:
        return "tokens up to %d before it" % -shift
    return "all tokens" if shift > 2 else "%d after it, too" % shift
