"""Rounding that has grown beyond the tolerance, layer by layer.

Each layer adds its own rounding to that of its input. After many layers the sum may exceed the
tolerance, which knows nothing of the depth. The recordings show how it has grown so far: a mistake
is a jump from there, or it follows from the values or their places, as rounding does not.
"""

import copy

from common.compare import noise, trying
from common.compare.optimizers import steps

GROWTH = 3  # times the distance of the layers before, which one layer may make of it
FARTHEST = 100  # tolerances: rounding that is larger would hide too much


def accept(recordings, first):
    """Accept arrays of the pass that differ by such rounding; in words, None if there are none."""
    if first is None or first["relation_holds"] or first["apart"] is None:
        return None
    if not _is_of_the_pass(recordings.a[first["a_place"]]):
        return None
    if any(i < first["a_place"] for i, _ in trying.jumps(recordings)):
        return None  # then what has grown may be a mistake
    accepted = list(_grown(recordings, _farther(recordings)))
    if not accepted:
        return None
    recordings.agreements.update((pair, same) for pair, same, _ in accepted)
    recordings.pairs = recordings.aligned()
    says = "%d arrays of the pass differ by up to %.2g, by rounding that grew from layer to layer"
    return says % (len(accepted), max(off for _, _, off in accepted))


def _is_of_the_pass(array):
    """Whether no exact recording says what an array of the pass costs."""
    return steps.kind(array.name)[0] == "plain" and array.unit is None


def _farther(recordings):
    """The same recordings, in which arrays of the pass agree that are further apart."""
    farther = copy.copy(recordings)
    farther.tolerance = FARTHEST * recordings.tolerance
    farther.agreements = {
        (i, j): same
        for (i, j), same in recordings.agreements.items()
        if same or not (_is_of_the_pass(recordings.a[i]) and _is_of_the_pass(recordings.b[j]))
    }
    farther.pairs = farther.aligned()
    return farther


def _grown(recordings, farther):
    """Yield ((place in A, in B), agreement, distance) of pairs up to one that no rounding is."""
    usual = 0.0
    for i, j, layout, off in farther.pairs:
        a, b = recordings.a[i], recordings.b[j]
        off /= b.spread or b.rms or 1
        if not recordings.agreement(i, j):
            moved = layout.apply(a.values, b.values.shape)
            few = noise.few(a.values)  # they show no noise, but may be no worse than their input
            grown = off <= usual if few else off <= GROWTH * usual
            if not grown or not (few or noise.looks_like_rounding(moved, b.values)):
                return
            yield (i, j), farther.agreement(i, j), off
        usual = max(usual, off if _is_of_the_pass(a) else 0.0)
