"""Attention from recorded queries, keys and values, in NumPy."""

import numpy as np

from common.compare.functions import softmax
from common.compare.layers.layer import full

MASKED = -1e30


def heads_of(width):
    """Numbers of heads that a width may have, in the order in which they are tried."""
    usual = [n for n in (4, 8, 12, 16, 2, 6, 32, 20, 24, 3, 1) if width % n == 0]
    return [n for n in usual if width // n >= 4]


def contexts(x, width):
    """Yield (name, context) of a fused array of queries, keys and values."""
    values = full(x).astype(np.float64)
    q, k, v = (values[..., n * width : (n + 1) * width] for n in range(3))
    for heads in heads_of(width):
        for seen in (0, None):
            kind = "attention" if seen is None else "causal attention"
            yield (
                "the %s of %d heads of %s" % (kind, heads, x.name),
                context(q, k, v, heads, seen),
            )


def split(x, heads):
    """(batch, tokens, width) as (batch, heads, tokens, width / heads)."""
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


def context(q, k, v, heads, seen, scale=None, tiled=False):
    """Attention; a token sees all up to ``seen`` places after it, or everything if that is None.

    tiled: whether heads share keys in the order 0 1 0 1, not 0 0 1 1.
    """
    few = heads * k.shape[-1] // q.shape[-1]
    q, k, v = split(q, heads), split(k, few), split(v, few)
    if few < heads:
        times = heads // few
        k, v = (np.tile(x, (1, times, 1, 1)) if tiled else np.repeat(x, times, 1) for x in (k, v))
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) * (scale or q.shape[-1] ** -0.5)
    if seen is not None:
        mask = np.tril(np.ones(scores.shape[-2:], bool), seen)
        scores = np.where(mask, scores, MASKED)
    out = np.matmul(softmax(scores, -1), v).transpose(0, 2, 1, 3)
    return out.reshape(out.shape[:2] + (-1,))
