"""Two layers that differ, and the earlier arrays that agree."""

from collections import namedtuple

import numpy as np

from common.compare.layers.layer import full, size

Explanation = namedtuple("Explanation", "says docs")
Explanation.__doc__ = """What differs, in words, and the anchor of the docs' page on it."""


class Both:
    """A layer of A and its counterpart in B, with B's axes in A's order."""

    def __init__(self, a, b, inputs, alone=(), pairs=None):
        """inputs: earlier arrays of A that agree with B's, the nearest first.

        alone: earlier arrays of either side that the other one lacks.
        pairs: [(array of A, of B)] of inputs, if they do not agree.
        """
        self.own = pairs is not None
        self.pairs = pairs if self.own else [(x, x) for x in inputs]
        self.a, self.b, self.inputs, self.alone = a, b, inputs, alone
        self.ours, self.theirs = (full(x.output).astype(np.float64) for x in (a, b))
        self.off = self.theirs - self.ours
        epsilon = max(a.output.epsilon, b.output.epsilon)
        self.noise = 8 * epsilon * max(a.output.rms, b.output.rms)

    def explained(self, left):
        """Whether an explanation leaves at most a tenth of the difference, and only rounding."""
        return size(left) <= min(0.1 * size(self.off), 4 * self.noise)
