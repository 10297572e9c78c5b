"""Results that differ by one number for each channel: a bias that one side adds, or another one."""

from common.compare.between.both import Explanation
from common.compare.layers import docs as pages


def explain(both):
    """An ``Explanation`` if images differ by the same in all places of a channel."""
    off = both.off
    for axis in (1, 3) if off.ndim == 4 else ():
        others = tuple(n for n in range(off.ndim) if n != axis)
        if both.explained(off - off.mean(others, keepdims=True)):
            says = "a bias: a number for each channel is added in one of both, or another one"
            return Explanation(says, pages.WEIGHTS)
    return None
