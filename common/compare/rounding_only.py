"""Gradients that are nothing but rounding, and weights that an optimiser moves by them.

If no result depends on a bias, as on that of attention's keys, its gradient is 0 but for rounding.
Adam divides the gradient by its own size, so the bias moves at random, in right ports too.
"""

from collections import defaultdict

import numpy as np

from common.compare.arrays import UNITS, allowed, apart
from common.compare.layers.layer import full
from common.compare.layouts import Agreement, agreement
from common.compare.names import words
from common.compare.optimizers import steps

ROUNDINGS = 64  # of the layer's largest gradient: smaller gradients are rounding
VISIBLE = 1e-3  # of that gradient: in lower precisions this is the limit instead,
FEW = 4  # but never less than so many roundings
SMALL = 16  # times a gradient's tolerance: Adam's ratio of smaller ones is rounding
APART = 2.1  # times the largest move of a weight
RARE = 0.02  # of a tensor's values; of more, all must be rounding


def accept(recordings):
    """Accept arrays of steps that differ only where gradients are rounding.

    The result: the names in A of the gradients that are rounding everywhere.
    """
    sides = _gradients(recordings.a), _gradients(recordings.b)
    accepted = []
    if not all(sides):
        return accepted
    limits = [_limits(side, recordings.tolerance) for side in sides]
    moved = farthest(recordings)
    for i, j in sorted(recordings.named.items()):
        what, step, key = steps.kind(recordings.a[i].name)
        if what not in ("gradient", "weight", "update") or recordings.agreement(i, j):
            continue
        theirs = steps.kind(recordings.b[j].name)[2]
        places = _rounding_places(sides, limits, (key, theirs), step)
        layout = places is not None and _layout(recordings, key, theirs)
        if not layout:
            continue
        a, b = recordings.a[i], recordings.b[j]
        if (places[0].size, places[1].size) != (a.size, b.size) or not (a.finite and b.finite):
            continue
        ours, theirs = places[0].reshape(a.values.shape), places[1].reshape(b.values.shape)
        both = layout.apply(ours, b.values.shape) & theirs
        values = layout.apply(a.values, b.values.shape)
        off = _apart_elsewhere(values, b.values, both)
        if off is None or off > allowed(a, b, recordings.tolerance):
            continue
        if what != "gradient" and np.abs(values - b.values)[both].max() > moved.get(step, np.inf):
            continue
        recordings.agreements[i, j] = Agreement(layout, off, False)
        if both.all() and what == "gradient":
            accepted.append(a.name)
    return accepted


def farthest(recordings):
    """{step: how far apart rounding may bring a weight of both sides until then, or an update}.

    That is twice the largest move on the calmer side, because each may move the other way.
    """
    sides = [_most(arrays) for arrays in (recordings.a, recordings.b)]
    known = set(sides[0]) & set(sides[1])
    return {step: APART * min(side[step] for side in sides) for step in known}


def _most(arrays):
    """{step: the largest move of any weight since the start, or of any update}."""
    start, found = {}, defaultdict(float)
    for array in arrays:
        what, step, key = steps.kind(array.name)
        if not array.finite:
            continue
        if (what, step) in (("start", 1), ("weight", 0), ("plain", 0)):
            start[key] = full(array)
        elif what == "weight" and key in start and start[key].shape == array.shape:
            found[step] = max(found[step], float(np.abs(full(array) - start[key]).max()))
        elif what == "update":
            found[step] = max(found[step], float(np.abs(array.values).max()))
    return found


def _apart_elsewhere(a, b, places):
    """The distance outside these places; None if the places are too many."""
    if places.all():
        return 0.0
    if places.mean() > RARE and not _is_block(places):
        return None
    return apart(a[~places], b[~places]) if places.any() else None


def _is_block(places):
    """Whether the places are whole rows, columns or runs, as the keys' part of a fused bias."""
    flat = places.reshape(-1).astype(int)
    return np.abs(np.diff(flat)).sum() <= 0.1 * flat.sum()


def _gradients(arrays):
    """{(tensor, step): gradient}"""
    found = {}
    for array in arrays:
        what, step, key = steps.kind(array.name)
        if what == "gradient" and array.finite:
            found[key, step] = array
    return found


def _limits(gradients, tolerance):
    """{(tensor, step): what is rounding there}"""
    sizes = {}
    for (_, step), array in gradients.items():
        for stem in (_stem(array), None):
            sizes[stem, step] = max(sizes.get((stem, step), 0.0), array.rms)
    limits = {}
    for (key, step), array in gradients.items():
        own = [sizes[_stem(array), step], sizes[None, step]]
        reference = own[0] if own[0] > array.rms else own[1]
        share = min(ROUNDINGS * array.epsilon, max(FEW * array.epsilon, VISIBLE))
        limits[key, step] = max(share * reference, SMALL * tolerance * array.spread)
        if array.unit is not None:  # an exact recording shows what is rounding
            limits[key, step] = min(limits[key, step], SMALL * UNITS * array.unit)
    return limits


def _stem(array):
    """The layer of a tensor."""
    return words(steps.label(array.name))[:-1]


def _rounding_places(sides, limits, keys, step):
    """For each side, where gradients were rounding in a step so far; None if that is unknown."""
    found = []
    for gradients, limit, key in zip(sides, limits, keys):
        known = [gradients.get((key, n)) for n in range(1, step + 1)]
        if None in known or len({gradient.shape for gradient in known}) != 1:
            return None
        quiet = [np.abs(full(x)) <= limit[key, n] for n, x in enumerate(known, 1)]
        found.append(np.any(quiet, 0))
    return found


def _layout(recordings, *keys):
    """The layout of a tensor in B, by its weights before the first step; None if they differ."""
    starts = []
    for arrays, key in zip((recordings.a, recordings.b), keys):
        kinds = (("start", 1, key), ("weight", 0, key))
        starts.append(next((x for x in arrays if steps.kind(x.name) in kinds), None))
    if None in starts:
        return None
    same = agreement(starts[0], starts[1], recordings.tolerance)
    return same and same.layout
