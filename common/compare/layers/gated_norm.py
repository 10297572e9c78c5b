"""A norm without a weight, of a sum of arrays, some of them times a gate.

A diffusion transformer's block norms x + gate * branch, and no module returns that sum. The norm
keeps a row's direction, so what the sum has across that direction must cancel.
"""

import itertools

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers import gate
from common.compare.layers.layer import size
from common.compare.layers.modulation import parted, sample
from common.compare.layers.normalisation import bare

DOCS = pages.MODULATION
INPUTS = 12
ROWS = 16
NARROWEST = 16  # values of a row

ordered, options = gate.ordered, gate.options


def cases(layer):
    """The sum's inputs, those without a gate first, by rows of the norm."""
    y, width = layer.output, layer.output.shape[-1:]
    if len(y.shape) < 3 or not NARROWEST <= width[0] or not y.spread or y.whole:
        return
    rows = np.random.RandomState(0).choice(y.size // width[0], ROWS)
    at = (rows[:, None] * width[0] + np.arange(width[0])).reshape(-1)
    direction = sample(y, at).reshape(ROWS, -1)
    kind = bare(direction)
    near = [x for x in layer.alike(INPUTS) if x.spread][::-1]
    if kind is None or len(near) < 2:
        return
    centered = kind == "LayerNorm"
    values = [sample(x, at) for x in near]
    wide = (found for found in parted(layer, gate.PARTS, at) if found[0].shape != y.shape)
    for (array, parts), base in itertools.product(
        itertools.islice(wide, gate.NEAREST), range(len(near))
    ):
        terms = _solved(values, parts, base, direction, centered)
        if terms:
            yield gate.case_of(layer, near, values, terms, array, parts, direction, kind=kind)


def _solved(values, parts, base, direction, centered):
    """{input: (1, None), or (0, its gate)}: their sum has the direction; None if none has.

    base: an input that has no gate.
    """
    others = [n for n in range(len(values)) if n != base]
    table = [values[n] * part for n in others for part in (1, *parts)] + [values[base]]
    *across, of_base = _across(np.stack(table), direction, centered)
    factors = np.linalg.lstsq(np.stack(across, 1), -of_base, rcond=None)[0]
    factors = factors.reshape(len(others), -1)
    rounded = np.rint(factors)
    if np.abs(factors - rounded).max() > gate.ROUNDED or set(np.unique(rounded)) != {0, 1}:
        return None
    if rounded.sum(1).max() > 1 or not rounded[:, 1:].any():
        return None
    found = {base: (1, None)}
    for n, row in zip(others, rounded):
        if row.any():
            place = int(row.argmax())
            found[n] = (0, place - 1) if place else (1, None)
    return found


def _across(tables, direction, centered):
    """What rows have across the directions of others; a mean is none of their own if centered."""
    rows = tables.reshape(len(tables), *direction.shape)
    if centered:
        rows = rows - rows.mean(2, keepdims=True)
    along = (rows * direction).sum(2, keepdims=True) / (direction**2).sum(1)[:, None]
    return (rows - along * direction).reshape(len(tables), -1)


def off(case, constants):
    """The distance of the sum on some rows, each made as long as the norm's."""
    made = gate.summed(case, constants)
    if made is None:
        return np.inf
    made = made.reshape(case.y.shape)
    if constants["kind"] == "LayerNorm":
        made = made - made.mean(1, keepdims=True)
    length = np.sqrt((case.y**2).sum(1) / (made**2).sum(1))
    return size(made * length[:, None] - case.y)


def words(constants):
    """The norm and the sum in words."""
    return "%s of %s" % (constants["kind"], gate.words(constants))
