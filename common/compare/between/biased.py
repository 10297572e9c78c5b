"""Results that differ by one vector: a bias that one side lacks, or that differs."""

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages

LEAST = 4  # rows; fewer may differ alike by chance


def explain(both):
    """An ``Explanation`` if the difference is the same in all rows of a channel or feature."""
    off = both.off
    if off.ndim < 2:
        return None
    for axis in (1, 3) if off.ndim == 4 else (off.ndim - 1,):
        others = tuple(n for n in range(off.ndim) if n != axis)
        if off.size < LEAST * off.shape[axis]:
            continue
        if both.explained(off - off.mean(others, keepdims=True)):
            says = "a bias: a number for each %s is added on one side only, or another one"
            kind = "channel" if off.ndim == 4 else "feature"
            return Explanation(says % kind, pages.WEIGHTS)
    return None
