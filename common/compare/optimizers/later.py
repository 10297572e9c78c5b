"""Steps after the first one, where rounding grows.

An optimiser that divides a gradient by its size, as Adam does, turns the rounding of small ones
into a share of its step; the next gradients differ by that. So does the place where Adam adds its
epsilon. Where both optimisers are known and otherwise the same, and the first gradients agree, this
is no mistake.
"""

import re

from common.compare.arrays import allowed, apart
from common.compare.layouts import Agreement, plain
from common.compare.optimizers import explain, steps

GROWTH = 100  # tolerances


def accept(recordings, first):
    """Accept arrays of later steps; in words, None if there is another difference or none."""
    if first is None or not _is_later(first["a"]):
        return None
    if not explain.alike(recordings.a, recordings.b, recordings.tensors):
        return None
    layouts = _layouts(recordings)
    count, largest = 0, 0.0
    for i, j in sorted(recordings.named.items()):
        a, b = recordings.a[i], recordings.b[j]
        what, _, key = steps.kind(a.name)
        if recordings.agreement(i, j) or not _is_later(a.name):
            continue
        layout = layouts.get(key) or plain(a)
        if not (a.finite and b.finite and a.size == b.size):
            return None
        moved = layout.apply(a.values, b.values.shape)
        off = apart(moved, b.values)
        if off > GROWTH * allowed(a, b, recordings.tolerance):
            return None
        recordings.agreements[i, j] = Agreement(layout, off, False)
        count, largest = count + 1, max(largest, off / (b.spread or b.rms or 1))
    if not count:
        return None
    recordings.pairs = recordings.aligned()
    says = "%d arrays of steps differ by up to %.2g, by rounding that the optimiser makes larger"
    return says % (count, largest)


def _is_later(name):
    """Whether an array is a weight after a step, or a loss or a gradient of one after the first."""
    what, step, _ = steps.kind(name)
    if what in ("weight", "update"):
        return step >= 1
    return step > 1 if what == "gradient" else bool(re.match(r"loss([2-9]|\d\d+)$", name))


def _layouts(recordings):
    """{tensor of A: its layout in B}, by the first arrays of it that agree."""
    found = {}
    for pair in recordings.pairs:
        what, _, key = steps.kind(recordings.a[pair.a].name)
        if what != "plain" and pair.layout.order is None:
            found.setdefault(key, pair.layout)
    return found
