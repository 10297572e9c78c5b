"""Which tensors of A and B belong together, if both recorded steps of training.

Frameworks list their tensors in different orders, and begin names with different words.
"""

from collections import OrderedDict

from common.compare import names
from common.compare.layouts import agreement
from common.compare.optimizers import steps


def matched(a, b, tolerance):
    """{tensor of B: tensor of A}, matched by name, then by the weights before the first step."""
    ours, theirs = _labels(a), _labels(b)
    pairs = OrderedDict()
    if not ours or not theirs:
        return pairs
    keys = list(ours), list(theirs)
    for i, j in names.same(list(ours.values()), list(theirs.values())).items():
        pairs[keys[1][j]] = keys[0][i]
    starts = _starts(a), _starts(b)
    taken = set(pairs.values())
    left = [key for key in keys[0] if key not in taken and key in starts[0]]
    for key in keys[1]:
        if key in pairs or key not in starts[1]:
            continue
        same = [k for k in left if _same(starts[0][k], starts[1][key], tolerance)]
        if len(same) == 1:
            pairs[key] = same[0]
            left.remove(same[0])
    return pairs


def in_order(a, b, pairs):
    """B, with the arrays of each kind and step in the order that their tensors have in A."""
    arrays, places = list(b), OrderedDict()
    for place, array in enumerate(b):
        what, step, _ = steps.kind(array.name)
        if what != "plain":
            places.setdefault((what, step), []).append(place)
    ranks = {}
    for place, array in enumerate(a):
        ranks.setdefault(steps.kind(array.name), place)
    for (what, step), own in places.items():

        def rank(array, what=what, step=step):
            return ranks.get((what, step, pairs.get(steps.kind(array.name)[2])), len(a))

        for place, array in zip(own, sorted((b[place] for place in own), key=rank)):
            arrays[place] = array
    return arrays


def places(a, b, pairs):
    """{place in A: place in B} of gradients, weights and updates of the same tensor and step."""
    theirs = {}
    for place, array in enumerate(b):
        what, step, key = steps.kind(array.name)
        if what != "plain" and key in pairs:
            theirs.setdefault((what, step, pairs[key]), place)
    found = {}
    for place, array in enumerate(a):
        other = theirs.pop(steps.kind(array.name), None)
        if other is not None:
            found[place] = other
    return found


def _labels(arrays):
    """{tensor: its name as it was written} of all tensors with gradients, weights or updates."""
    found = OrderedDict()
    for array in arrays:
        what, _, key = steps.kind(array.name)
        if what != "plain":
            found.setdefault(key, steps.label(array.name))
    return found


def _starts(arrays):
    """{tensor: its weights before the first step}"""
    found = {}
    for array in arrays:
        what, step, key = steps.kind(array.name)
        if what == "start" or (what, step) == ("weight", 0):
            found[key] = array
    return found


def _same(x, y, tolerance):
    """Whether two arrays have the same values, in some layout, by more than chance."""
    if x.size != y.size:
        return False
    same = agreement(x, y, tolerance)
    return same is not None and same.proof
