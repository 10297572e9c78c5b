"""Reductions: the mean, maximum, first or last, over tokens or an image's places."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.layer import NEAR, Case, full, marks, size

FEW = 16  # values; fewer tell nothing
LARGE = 2**22  # values of an input
KINDS = OrderedDict(
    [
        ("mean", lambda x: x.mean(1)),
        ("first", lambda x: x[:, 0]),
        ("last", lambda x: x[:, -1]),
        ("largest", lambda x: x.max(1)),
        ("sum", lambda x: x.sum(1)),
        ("smallest", lambda x: x.min(1)),
    ]
)
MASKED = ("mean", "last", "largest", "sum")  # kinds that may use a mask


def cases(layer):
    """Earlier arrays with one more axis, of tokens, or two, of places."""
    y = layer.output
    if y.size < FEW or not y.spread or y.values.ndim < 1:
        return
    for x in itertools.islice(layer.earlier(), NEAR):
        gone = len(x.shape) - y.values.ndim
        if gone in (1, 2) and x.size <= LARGE and x.shape[0] == y.values.shape[0]:
            for start in range(1, y.values.ndim + 1):
                kept = x.shape[:start] + x.shape[start + gone :]
                if kept == y.values.shape:
                    yield from _case(layer, x, start, gone)


def _case(layer, x, start, gone):
    """A case whose input has the reduced axes as axis 1."""
    values, y = full(x).astype(np.float64), layer.output.values.astype(np.float64)
    shape = values.shape[:start] + (-1,) + values.shape[start + gone :]
    values = np.moveaxis(values.reshape(shape), start, 1)
    yield Case(layer, [x], x=values, y=y, mask=_mask(layer, values.shape[:2]))


def _mask(layer, shape):
    """An earlier array of zeros and ones, one for each token; None if there is none."""
    for array in layer.arrays[: layer.place]:
        if array.shape == shape and array.finite:
            values = full(array)
            if marks(values) and values.any(1).all():
                return values.astype(bool)
    return None


def options(case):
    """Each kind, of all places and of those that the mask keeps."""
    for kind in KINDS:
        yield OrderedDict(kind=kind, masked=False)
    for kind in MASKED if case.mask is not None else ():
        yield OrderedDict(kind=kind, masked=True)


def off(case, constants):
    """The distance."""
    kind = constants["kind"]
    if not constants["masked"]:
        return size(KINDS[kind](case.x) - case.y)
    if case.mask is None:
        return np.inf
    rows = [KINDS[kind](row[None, kept])[0] for row, kept in zip(case.x, case.mask)]
    return size(np.array(rows) - case.y)


def words(constants):
    """The reduction in words."""
    places = "the places that the mask keeps" if constants["masked"] else "all places"
    return "the %s of %s" % (constants["kind"], places)


def docs(a, b):
    """The page's anchor."""
    return pages.MASK if a["masked"] != b["masked"] else None
