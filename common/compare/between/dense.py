"""Dense layers whose weights can be computed, because there are more rows than inputs.

It compares the weights of A and B, and what each side does to the input before the layer.
"""

from typing import NamedTuple

import numpy as np

from common.compare.between.both import Explanation
from common.compare.functions import SHAPES, bfloat16
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size
from common.compare.layers.normalisation import normalised

NEAR = 4  # inputs that are tried
WIDEST = 1024  # input
SPARE = 1.25  # rows for each unknown of an output
ENOUGH = 3  # rows for each input; more are not used
EXACT = 1e-5  # of the results' spread: what a fit may leave
SAME = 1e-3  # of a weight's size: nearly dependent inputs show it no better
RANK = 0.25  # of a weight's smaller side, at most, in an adapter
NORMS = ("LayerNorm", "RMSNorm")


class Difference(NamedTuple):
    """What differs, in words. ``is_known``: how the weights differ, not only that they do."""

    says: str
    is_known: bool = True


def explain(both):
    """An ``Explanation`` of dense layers of one input, or on one side of a function of it."""
    y, other = both.ours, None
    if y.ndim < 2:
        return None
    results = [z.reshape(-1, y.shape[-1]) for z in (both.ours, both.theirs)]
    inputs = [x for x in both.inputs if x.shape[:-1] == y.shape[:-1] and x.spread][:NEAR]
    for x in inputs:
        rows = full(x).reshape(-1, x.shape[-1])
        some = np.sort(
            np.random.RandomState(0).permutation(len(rows))[: ENOUGH * rows.shape[1] + 8]
        )
        if rows.shape[1] > WIDEST or len(some) < SPARE * rows.shape[1] + 4:
            return None  # it may be the input, but its weight cannot be computed
        found = _of(x.name, rows[some].astype(np.float64), *(z[some] for z in results))
        if found is not None and found.is_known:
            return Explanation(found.says, pages.WEIGHTS)
        other = found or other  # of queries, keys are a dense layer, too: the first array counts
    return other and Explanation(other.says, pages.WEIGHTS)


def _of(name, rows, ours, theirs):
    """The ``Difference`` of the dense layers of some rows; None if nothing is known."""
    weights = [weight(rows, y) for y in (ours, theirs)]
    if all(w is not None for w in weights):
        return _of_weights(name, *weights)
    if not any(w is not None for w in weights):
        return None
    for what, made in _functions(rows):
        y = ours if weights[0] is None else theirs
        if weight(made, y) is not None:
            words = "a dense layer of %s" % name, "a dense layer of the %s of %s" % (what, name)
            words = words if weights[1] is None else words[::-1]
            return Difference("%s in A, %s in B" % words)
    return None


def weight(rows, y):
    """The (inputs, outputs) weight of a dense layer with a bias from rows to y; or None."""
    x, y = rows - rows.mean(0), y - y.mean(0)
    found = np.linalg.lstsq(x, y, rcond=1e-9)[0]
    return found if size(y - np.dot(x, found)) <= EXACT * size(y) else None


def _functions(rows):
    """Yield (name, values) of functions that may come before a dense layer."""
    for kind in NORMS:
        yield kind, normalised(rows, kind, 1e-6)
    for name in SHAPES:
        if name != "identity":
            yield name, SHAPES[name](rows)


def _of_weights(name, ours, theirs):
    """The ``Difference`` of the layers' weights; None if they are the same."""
    off, near = size(theirs - ours), SAME * size(ours)
    if off <= EXACT * size(ours):
        return None
    start = "a dense layer of %s in both, " % name
    for a, b, side in ((ours, theirs, "B"), (theirs, ours, "A")):
        if size(bfloat16(a) - b) <= off / 10:
            return Difference(start + "with its weight rounded to bfloat16 in %s" % side)
    if ours.shape[0] == ours.shape[1] and size(theirs - ours.T) <= near:
        says = "the square weight of a dense layer of %s is transposed on one side only"
        return Difference(says % name)
    inputs = order(ours, theirs, near)
    if inputs is not None:
        return Difference(start + "with B's inputs in the order %s" % ", ".join(inputs))
    sizes = np.linalg.svd(theirs - ours, compute_uv=False)
    rank = int((sizes > SAME * sizes[0]).sum())
    if rank <= RANK * min(ours.shape):
        says = "with weights that differ by a matrix of rank %d, as of an adapter"
        return Difference(start + says % rank)
    return Difference(start + "with another weight", is_known=False)


def order(ours, theirs, near):
    """The first places in ours of the rows of theirs, in words; None if theirs has other rows."""
    products = np.dot(theirs, ours.T)
    distances = (theirs**2).sum(1)[:, None] - 2 * products + (ours**2).sum(1)
    places = distances.argmin(1)
    if len(set(places)) < len(places) or size(theirs - ours[places]) > near:
        return None
    return [str(n) for n in places[:8]] + ["..."] * (len(places) > 8)
