"""Dense layers after the first difference, where each side has its own input.

The weight need not be recorded, if both sides together have more rows than it has inputs. If a
dense layer with one weight maps each side's input to its result, it leaves no residual. Otherwise,
the residuals show how B's outputs follow from A's: in another order, times a factor, or as those of
another layer.
"""

import numpy as np

from common.compare.between import dense, transposed
from common.compare.between.both import Explanation
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

NEAR = 4  # inputs that are tried
SPARE = 1.1  # rows of both sides for each unknown of an output
ROWS = 1.5  # of each side, looked at, for each input
WIDEST = 512  # input, and output that may be in another order
EXACT = 2e-5  # of a result: what rounding may leave
LEAST = 1e-2  # of a result: what both inputs alone must leave unexplained


class Same(Exception):
    """One weight makes both results."""


def explain(both, others=(), sure=()):
    """How B's dense layer differs from A's; None if that is not known, ``Same`` if it does not.

    both: ``Both`` with pairs of inputs. others: [(A's array, B's, both names)] of other layers.
    sure: names of A's arrays whose counterparts are known.
    """
    if both.ours.ndim < 2 or both.ours.shape != both.theirs.shape:
        return None
    near = [p for p in both.pairs if p[0].shape[:-1] == both.ours.shape[:-1] and p[0].spread]
    near = [(x, z) for x, z in near if x.shape == z.shape and x.shape[-1] <= WIDEST][:NEAR]
    for x, z in near:
        found = _of(both, x, z, others, x.name in sure)
        if found is not None:
            return Explanation(found, pages.WEIGHTS)
    return None


def _of(both, x, z, others, sure):
    """What differs, in words, if both are dense layers of x in A, of z in B; else None."""
    inputs = [some_rows(full(array), x.shape[-1]) for array in (x, z)]
    ours, theirs = (some_rows(y, x.shape[-1]) for y in (both.ours, both.theirs))
    left = unexplained(*inputs)
    if left is None:
        return None
    start = "a dense layer of %s in both, " % x.name
    a, b = left.of(ours, 0), left.of(theirs, 1)
    if not (size(ours) and size(theirs)):
        return None
    if min(size(a) / size(ours), size(b) / size(theirs)) < LEAST:
        return None
    near = EXACT * size(theirs)
    if size(a + b) <= near:  # as in ``one_weight``
        raise Same
    times = -(a * b).sum() / (a**2).sum()
    if size(b + a * times) <= near * max(1, abs(times)):
        return start + "times %.4g in B" % times if sure else None  # the input may be scaled
    order = dense.order(a.T, -b.T, near) if a.shape[1] <= WIDEST else None
    if order is not None:
        return start + "with B's outputs in the order %s" % ", ".join(order)
    for one, other, names in others:
        if full(one).shape == both.ours.shape == full(other).shape:
            sides = (some_rows(full(y), x.shape[-1]) for y in (one, other))
            c, d = (left.of(y, side) for side, y in enumerate(sides))
            if size(a + d) <= near and size(c + b) <= near:
                return "%s and %s are swapped in B" % names
    if ours.shape[1] == x.shape[-1] and transposed.is_transposed(*inputs, ours, theirs):
        return "the square weight of a dense layer of %s is transposed on one side only" % x.name
    return None


def one_weight(x, z, a, b):
    """Whether a is a dense layer of x, and b of z, with the same weight."""
    inputs, results = (
        [some_rows(full(array), x.shape[-1]) for array in pair] for pair in ((x, z), (a, b))
    )
    left = unexplained(*inputs)
    if left is None:
        return False
    return size(left.of(results[0], 0) + left.of(results[1], 1)) <= EXACT * size(results[1])


def some_rows(values, inputs):
    """(rows, last axis) in float64: only as many rows as are needed."""
    rows = values.reshape(-1, values.shape[-1])
    count = int(ROWS * inputs) + 16
    some = np.sort(np.random.RandomState(0).permutation(len(rows))[:count])
    return rows[some].astype(np.float64)


def unexplained(ours, theirs):
    """The ``Unexplained`` of both sides' inputs; None if they have too few rows."""
    enough = len(ours) + len(theirs) >= SPARE * ours.shape[1] + 4
    return Unexplained(ours, theirs) if enough else None


class Unexplained:
    """What a dense layer with one weight for both sides, and a bias for each, leaves over."""

    def __init__(self, ours, theirs):
        """ours, theirs: the inputs of A and B, (rows, inputs)."""
        self.counts = len(ours), len(theirs)
        rows = np.concatenate([ours, theirs])
        rows = rows / (np.abs(rows).max() + 1e-300)
        biases = np.repeat(np.eye(2), self.counts, 0)
        self.known = np.linalg.qr(np.concatenate([rows, biases], 1))[0]

    def of(self, results, side):
        """The part of one side's (rows, outputs), the other side's being 0."""
        whole = np.zeros((sum(self.counts), results.shape[1]))
        start = side * self.counts[0]
        whole[start : start + self.counts[side]] = results
        return whole - np.dot(self.known, np.dot(self.known.T, whole))
