"""Positions of padded text: counted from the first token or from the first unmasked one."""

import itertools

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, marks, size


def explain(both):
    """An ``Explanation`` if B - A = P[B's positions] - P[A's positions] with an unknown table P."""
    y = both.off
    if y.ndim != 3:
        return None
    batch, tokens, width = y.shape
    for mask in _masks(both, (batch, tokens)):
        counted = np.maximum(mask.cumsum(1) - 1, 0)
        plain = np.broadcast_to(np.arange(tokens), (batch, tokens))
        kinds = {
            "from the mask": counted,
            "from the first place": plain,
            "from the mask, from 1": np.where(mask, counted + 1, 0),
            "from the mask, from 2": np.where(mask, counted + 2, 1),
        }
        for ours, theirs in itertools.combinations(sorted(kinds), 2):
            if _fits(both, kinds[ours], kinds[theirs]):
                # With the table's sign reversed, A and B fit in exchanged roles, too.
                if not _masked_in_b(both, mask):
                    ours, theirs = theirs, ours
                says = "positions are counted %s in A, %s in B" % (ours, theirs)
                return Explanation(says, pages.POSITIONS)
    return None


def _masked_in_b(both, mask):
    """Whether B's masked places are more alike than A's: then B counts positions by the mask."""
    rows = mask == 0
    spreads = [
        sum(y[n][rows[n]].var(0).sum() for n in range(len(y)) if rows[n].any())
        for y in (both.ours, both.theirs)
    ]
    return spreads[0] > spreads[1]


def _masks(both, shape):
    """Earlier arrays of zeros and ones with a value for each token; 0 is padding."""
    for x in both.a.arrays[: both.a.place]:
        if x.shape == shape:
            values = full(x)
            if marks(values):
                yield values.astype(int)


def _fits(both, ours, theirs):
    """Whether a table explains the difference, with more equations than unknowns."""
    count = int(max(ours.max(), theirs.max())) + 1
    rows = np.zeros((ours.size, count))
    rows[np.arange(ours.size), theirs.reshape(-1)] += 1
    rows[np.arange(ours.size), ours.reshape(-1)] -= 1
    off = both.off.reshape(ours.size, -1)
    moved = (rows != 0).any(1)
    if moved.sum() < count - 1 + 3:
        return False
    table = np.linalg.lstsq(rows, off, rcond=None)[0]
    left = off - np.dot(rows, table)
    return size(left) <= max(2e-5 * size(off), 4 * both.noise)
