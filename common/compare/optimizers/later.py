"""Steps of right ports whose optimisers enlarge rounding.

Adam divides a gradient by its size. If the gradient is as small as its own rounding, Adam takes a
whole step in an undetermined direction, and the next gradients differ, too. The place where Adam
adds its epsilon has a similar effect. None of this is a mistake if the first gradients agree, and
if each side's weights follow from its own gradients by the same optimiser. How far apart later
gradients may be is measured: if a share of a step is rounding, it may change them by that share of
what the step changes.
"""

from collections import namedtuple

import numpy as np

from common.compare import rounding_only
from common.compare.arrays import allowed, apart
from common.compare.layouts import Agreement, plain
from common.compare.optimizers import explain, steps

GAIN = 4  # times that share: a small change may point elsewhere than the step

Later = namedtuple("Later", "i j what step key layout off")
Later.__doc__ = """Arrays of a step: their places, kind, step, tensor, layout, distance."""


def accept(recordings, first):
    """Accept arrays of steps; the result in words, or None if nothing was accepted."""
    if first is None or not _step_after(first["a"]):
        return None
    if not explain.alike(recordings):
        return None
    arrays = _by_step(recordings)
    shares = _Shares(recordings, arrays)
    accepted = []
    for step in sorted(arrays):
        new = [x for x in arrays[step] if not recordings.agreement(x.i, x.j)]
        if any(x.off is None or not shares.explain(x) for x in new):
            break
        accepted += new
    if not accepted:
        return None
    for x in accepted:
        recordings.agreements[x.i, x.j] = Agreement(x.layout, x.off, False)
    recordings.pairs = recordings.aligned()
    largest = max(x.off / recordings.b[x.j].scale for x in accepted)
    says = "%d arrays of steps differ by up to %.2g, by rounding that the optimiser makes larger: "
    says += "a gradient as small as its own rounding does not determine a whole step"
    return says % (len(accepted), largest)


def _step_after(name):
    """The number of steps before an array of steps; 0 if it is of the first pass."""
    what, step = steps.moment(name) or ("plain", 1)
    return step if what in ("weight", "update") else step - 1


def _by_step(recordings):
    """{steps before: [``Later``]}, the weights after a step before the gradients that follow."""
    layouts, found = _layouts(recordings), {}
    for i, j in sorted(recordings.named.items()):
        a, b = recordings.a[i], recordings.b[j]
        after = _step_after(a.name)
        if not after or a.size != b.size:
            continue
        what, step, key = steps.kind(a.name)
        layout, off = layouts.get(key) or plain(a), None
        if a.finite and b.finite:
            off = apart(layout.apply(a.values, b.values.shape), b.values)
        found.setdefault(after, []).append(Later(i, j, what, step, key, layout, off))
    return found


class _Shares:
    """The share of each step that is rounding, and how far a step moved A's arrays."""

    def __init__(self, recordings, arrays):
        self.recordings, self.farthest = recordings, rounding_only.farthest(recordings)
        self.known = {steps.kind(x.name): x for x in recordings.a}
        # The losses, which have no tensor.
        self.known.update({steps.moment(x.name): x for x in recordings.a})
        self.of_both = {steps.kind(recordings.a[i].name) for i in recordings.named}
        rounding = {steps.kind(name)[2] for name in recordings.rounding_only}
        self.of = {0: 0.0}
        for after in sorted(arrays):
            rows = [
                (x.off**2 * recordings.a[x.i].size, self._moved(x) ** 2 * recordings.a[x.i].size)
                for x in arrays[after]
                if x.what == "weight" and x.key not in rounding and x.off is not None
            ]
            off, moved = np.sum(rows, 0) if rows else (0.0, 0.0)
            self.of[after] = float(np.sqrt(off / moved)) if moved else 0.0

    def _before(self, x):
        """A's array of the same kind one step earlier; None if it was not recorded."""
        if x.what == "plain":
            return self.known.get(("loss", _step_after(self.recordings.a[x.i].name)))
        kinds = [(x.what, x.step - 1, x.key)]
        kinds += [("start", 1, x.key), ("plain", 0, x.key)] if kinds[0][:2] == ("weight", 0) else []
        return next((self.known[kind] for kind in kinds if kind in self.known), None)

    def _moved(self, x):
        """How far a step moved an array of A; 0 if that is not known."""
        before, a = self._before(x), self.recordings.a[x.i]
        known = before is not None and before.values.shape == a.values.shape and before.finite
        return apart(a.values, before.values) if known else 0.0

    def explain(self, x):
        """Whether rounding explains an array's distance.

        Weights follow from gradients by optimisers that were recognised. Running statistics have
        no gradient; they follow from the weights, as the gradients of the next step do.
        """
        a, b = self.recordings.a[x.i], self.recordings.b[x.j]
        weight = x.what in ("weight", "update")
        if weight and ("gradient", x.step, x.key) in self.of_both:
            off = np.abs(x.layout.apply(a.values, b.values.shape) - b.values).max()
            return off <= self.farthest.get(x.step, np.inf)
        share = self.of.get(x.step - 1 if weight else _step_after(a.name), 0.0)
        return x.off <= allowed(a, b, self.recordings.tolerance) + GAIN * share * self._moved(x)


def _layouts(recordings):
    """{tensor of A: its layout in B}, by the first arrays of it that agree."""
    found = {}
    for pair in recordings.pairs:
        what, _, key = steps.kind(recordings.a[pair.a].name)
        if what != "plain" and pair.layout.order is None:
            found.setdefault(key, pair.layout)
    return found
