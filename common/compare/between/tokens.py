"""Embeddings of recorded tokens with another row for a token; the table need not be recorded."""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

LEAST = 4  # tokens that show how a table's rows are moved
MOVES = (1, -1, 2, -2)
FEW = 4  # tokens whose own rows may differ


def explain(both):
    """An ``Explanation`` if B has other tokens' vectors, or a few tokens' vectors differ."""
    for tokens in _tokens(both):
        known, first, inverse = np.unique(tokens, return_index=True, return_inverse=True)
        rows = [y.reshape(-1, y.shape[-1]) for y in (both.ours, both.theirs)]
        ours, theirs = (y[first] for y in rows)
        if any(size(y[first][inverse.reshape(-1)] - y) > 4 * both.noise for y in rows):  # no table
            continue
        says = _moved(both, known, ours, theirs) or _few(both, known, ours, theirs)
        if says is not None:
            return Explanation("an embedding: " + says, pages.WEIGHTS)
    return None


def _tokens(both):
    """Earlier arrays of whole numbers, one for each vector."""
    for x in both.a.earlier(floats=False):
        if x.dtype.kind in "iu" and x.shape == both.ours.shape[:-1]:
            yield full(x)


def _moved(both, known, ours, theirs):
    """How the table's rows are moved by a place or two, in words; or None."""
    for move in MOVES:
        _, source, target = np.intersect1d(known + move, known, return_indices=True)
        if len(source) >= LEAST and size(theirs[target] - ours[source]) <= 4 * both.noise:
            other = "n %s %d" % ("-" if move > 0 else "+", abs(move))
            return "its rows are moved: B's token n has the vector of A's token %s" % other
    return None


def _few(both, known, ours, theirs):
    """Which few tokens' vectors differ although all others agree, in words; or None."""
    other = [size(a - b) > 4 * both.noise for a, b in zip(ours, theirs)]
    if not 0 < sum(other) <= min(FEW, len(known) - LEAST):
        return None
    says = "only the vectors of tokens %s differ" % ", ".join("%d" % n for n in known[other])
    zero = [name for name, y in (("A", ours), ("B", theirs)) if not y[other].any()]
    return says + "".join("; %s's are 0, as of a padding index" % name for name in zero)
