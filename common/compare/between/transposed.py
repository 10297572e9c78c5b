"""A square weight that one side has transposed; the weight itself need not be recorded.

Without the rows' means, let Ya = X W and Yb = Z W'. Then Ya Z' = X W Z' = X Yb'. The inputs X and Z
may be the same.
"""

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import attention
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

ROWS = 256
LEAST = 8
TURNED = 1e-4  # of the products: by how much they may differ


def explain(both):
    """An ``Explanation`` if a transposed weight fits a recorded input or an attention's context."""
    width = both.ours.shape[-1] if both.ours.ndim > 1 else 0
    rows = both.ours.size // width if width else 0
    if width < LEAST or rows < LEAST:
        return None
    some = np.sort(np.random.RandomState(0).permutation(rows)[:ROWS])
    ours, theirs = (y.reshape(rows, width)[some] for y in (both.ours, both.theirs))
    for name, values in _inputs(both, width, rows):
        values = values.reshape(rows, width)[some].astype(np.float64)
        for before, x in (("", values), ("the ReLU of ", np.maximum(values, 0))):
            if is_transposed(x, x, ours, theirs) and not _is_symmetric(x, ours):
                says = (
                    "the square weight of a dense layer is transposed on one side only; from %s%s"
                )
                return Explanation(says % (before, name), pages.WEIGHTS)
    return None


def is_transposed(x, z, ours, theirs):
    """Whether a square weight maps the rows x to ours and, transposed, the rows z to theirs.

    Either layer may have a bias.
    """
    x, z, ours, theirs = (rows - rows.mean(0) for rows in (x, z, ours, theirs))
    forward, back = np.dot(ours, z.T), np.dot(x, theirs.T)
    return size(forward - back) <= TURNED * size(forward)


def _is_symmetric(x, ours):
    """Whether the weight from x to ours is its own transpose."""
    x, ours = x - x.mean(0), ours - ours.mean(0)
    forward = np.dot(ours, x.T)
    return TURNED * size(forward) >= 1e-2 * size(forward - np.dot(x, ours.T))


def _inputs(both, width, rows):
    for x in both.inputs:
        if x.shape[-1:] == (width,) and x.size == rows * width:
            yield x.name, full(x)
    for x in both.inputs[:6]:
        if x.shape[-1:] == (3 * width,) and x.size == 3 * rows * width and len(x.shape) == 3:
            yield from attention.contexts(x, width)
