"""Rounding that has grown beyond the tolerance, layer by layer.

Each layer adds its own rounding to that of its input. After many layers the sum may exceed the
tolerance, which does not depend on the depth. The recordings show how rounding has grown so far. A
mistake is a jump, or it depends on the values or their places; rounding does neither.
"""

import copy

from common.compare import noise, trying
from common.compare.arrays import apart
from common.compare.counterparts import in_order
from common.compare.layouts import Agreement, plain
from common.compare.optimizers import steps
from common.compare.pairing import Pair

GROWTH = 3  # a layer may be this many times as far apart as earlier ones
FARTHEST = 100  # tolerances: accepting more would hide mistakes


def accept(recordings, first):
    """Accept arrays of the pass that differ by such rounding; the result in words, or None."""
    if first is None or first["apart"] is None:
        return None
    if first["relation_holds"] and first["apart"] <= FARTHEST * recordings.tolerance:
        return None  # a bias that a norm subtracts is farther apart; it is not accepted itself
    if not _is_of_the_pass(recordings.a[first["a_place"]]):
        return None
    if any(i < first["a_place"] for i, _ in trying.jumps(recordings)):
        return None  # it may be a mistake that has grown
    accepted = list(_grown(recordings, _farther(recordings)))
    if not accepted:
        return None
    accepted += _numbers(recordings, max(off for _, _, off in accepted))
    recordings.agreements.update((pair, same) for pair, same, _ in accepted)
    recordings.pairs = recordings.aligned()
    says = "%d arrays of the pass differ by up to %.2g, by rounding that grew from layer to layer"
    return says % (len(accepted), max(off for _, _, off in accepted))


def _numbers(recordings, most):
    """Yield the same as ``_grown`` for single numbers, such as a loss, up to the distance most."""
    for i, j in recordings.named.items():
        a, b = recordings.a[i], recordings.b[j]
        if a.size == b.size == 1 and a.finite and b.finite and _is_of_the_pass(a):
            off = apart(a.values.reshape(-1), b.values.reshape(-1)) / (b.rms or 1)
            if not recordings.agreement(i, j) and off <= most:
                yield (i, j), Agreement(plain(a), off, False), off


def _is_of_the_pass(array):
    """Whether an array is of the pass, and no exact recording shows its own rounding."""
    return steps.kind(array.name)[0] == "plain" and array.unit is None


def _farther(recordings):
    """The same recordings with a larger tolerance for arrays of the pass.

    Only pairs that are equal or should be are compared: there are too many others.
    """
    farther = copy.copy(recordings)
    farther.tolerance = FARTHEST * recordings.tolerance
    ours, theirs = (list(map(_is_of_the_pass, side)) for side in (recordings.a, recordings.b))
    farther.agreements = {
        (i, j): same
        for (i, j), same in recordings.agreements.items()
        if same or not (ours[i] and theirs[j])
    }
    pairs = [pair for pair in trying.counterparts(recordings) if farther.agreement(*pair)]
    agreements = [(i, j, farther.agreement(i, j)) for i, j in in_order(pairs)]
    farther.pairs = [Pair(i, j, same.layout, same.off) for i, j, same in agreements]
    return farther


def _grown(recordings, farther):
    """Yield ((place in A, in B), agreement, distance) up to the first pair that is not rounding."""
    usual = 0.0
    for i, j, layout, off in farther.pairs:
        a, b = recordings.a[i], recordings.b[j]
        off /= b.scale
        if not recordings.agreement(i, j):
            moved = layout.apply(a.values, b.values.shape)
            few = noise.few(a.values)  # such values must be as near as their input
            grown = off <= usual if few else off <= GROWTH * usual
            if not grown or not (few or noise.looks_like_rounding(moved, b.values)):
                return
            yield (i, j), farther.agreement(i, j), off
        usual = max(usual, off if _is_of_the_pass(a) else 0.0)
