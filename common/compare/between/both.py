"""Two layers that differ, and the earlier arrays that agree."""

from collections import namedtuple

import numpy as np

from common.compare.layers.layer import full, size

Explanation = namedtuple("Explanation", "says docs")
Explanation.__doc__ = """What differs, in words, and the anchor of the docs' page on it."""


class Both:
    """A layer of A and its counterpart in B, with B's axes in A's order."""

    def __init__(self, a, b, inputs, alone=(), pairs=None):
        """inputs: arrays of A before this one that B has, too, the nearest first.

        alone: arrays of either side, before these, that the other does not have.
        pairs: [(array of A, of B)] of inputs, if they are not the same in both.
        """
        self.own = pairs is not None
        self.pairs = pairs if self.own else [(x, x) for x in inputs]
        self.a, self.b, self.inputs, self.alone = a, b, inputs, alone
        self.ours, self.theirs = (full(x.output).astype(np.float64) for x in (a, b))
        self.off = self.theirs - self.ours
        epsilon = max(a.output.epsilon, b.output.epsilon)
        self.noise = 8 * epsilon * max(a.output.rms, b.output.rms)

    def explained(self, left):
        """Whether what an explanation leaves of the difference is a tenth of it and rounding."""
        return size(left) <= min(0.1 * size(self.off), 4 * self.noise)
