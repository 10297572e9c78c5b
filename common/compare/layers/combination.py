"""An earlier array as it is, times a number, or the sum of two or three earlier ones."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, number, size
from common.compare.layers.normalisation import EPSILONS

LOOKED_AT = 2048
FEW = 64  # values; fewer tell nothing
ROUNDED = 1.3e-7  # the error of an epsilon whose factor is a float32


def cases(layer):
    """One, two or three of the nearest arrays of the output's shape."""
    y = layer.output
    if y.size < FEW or not y.spread or y.whole:
        return
    at = np.unique(np.random.RandomState(0).randint(0, y.size, LOOKED_AT))
    near = [x for x in layer.alike() if x.spread]
    values = {id(x): x.values.reshape(-1)[at].astype(np.float64) for x in near}
    target = y.values.reshape(-1)[at].astype(np.float64)
    for count in (1, 2, 3):
        for inputs in itertools.combinations(near, count):
            parts = [values[id(x)] for x in inputs]
            yield Case(layer, list(inputs), parts=parts, y=target)


def options(case):
    """The sum, perhaps with a ReLU or with factors; a single array times the number that fits."""
    yield OrderedDict(count=len(case.parts), times=1.0)
    if len(case.parts) > 1 and case.y.min() == 0:
        yield OrderedDict(count=len(case.parts), times=1.0, after="ReLU")
    if len(case.parts) == 2:
        table = np.stack(case.parts, 1)
        factors = np.linalg.lstsq(table, case.y, rcond=None)[0]
        factors = tuple(float("%.4g" % factor) for factor in factors)
        if 1.0 in factors and 0.0 not in factors and factors != (1.0, 1.0):
            yield OrderedDict(count=2, times=1.0, factors=factors)
    if len(case.parts) == 1:
        x = case.parts[0]
        times = float((x * case.y).sum() / (x**2).sum()) if x.any() else 1.0
        yield OrderedDict(count=1, times=times)


def off(case, constants):
    """The distance on a sample."""
    if constants["count"] != len(case.parts):
        return np.inf
    factors = constants.get("factors", [1.0] * len(case.parts))
    made = sum(part * factor for part, factor in zip(case.parts, factors)) * constants["times"]
    return size((np.maximum(made, 0) if "after" in constants else made) - case.y)


def copies(constants):
    """Whether the layer leaves its input as it is."""
    return constants["count"] == 1 and constants["times"] == 1


def words(constants):
    """The combination in words."""
    if "factors" in constants:
        return "the sum of 2 arrays, times %s and %s" % tuple(map(number, constants["factors"]))
    if constants["count"] > 1:
        before = "the ReLU of " if "after" in constants else ""
        return "%sthe sum of %d arrays" % (before, constants["count"])
    if copies(constants):
        return "its input"
    epsilon = _epsilon(constants)
    if epsilon:
        return "a BatchNorm whose running variance is 1, epsilon %s" % number(epsilon)
    return "its input times %s" % number(constants["times"])


def _epsilon(constants):
    """The usual epsilon that gives this factor in an untrained batch norm; or None.

    Such a norm subtracts 0, multiplies by 1 and divides by the root of 1 + epsilon.
    """
    if not 0.9 < constants["times"] < 1:
        return None
    fitted = constants["times"] ** -2 - 1
    near = (e for e in EPSILONS if abs(fitted - e) < 2e-3 * e + ROUNDED and e > 4 * ROUNDED)
    return next(near, None)


def docs(a, b):
    """The page's anchor."""
    return pages.EPSILON if _epsilon(a) and _epsilon(b) else pages.EMBEDDING_SCALE
