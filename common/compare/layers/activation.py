"""Activations: a function of each value, perhaps times another array, as in a gated layer."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import SHAPES
from common.compare.layers import docs as pages
from common.compare.layers.layer import NEAR, Case, full, number, size

LOOKED_AT = 2048  # values
FIRST = 64  # values that must be close before the others are compared
NEARLY = 0.02
FEW = 16  # values; fewer tell nothing
SMOOTH = 0.2  # of the spread, between values whose inputs are neighbours
FROM, TO = 1e-3, 1e4  # the range of a curve's constant
HALVINGS = 50
# Functions with a constant; if it is 1, all but the last are among the usual ones.
CURVES = OrderedDict(
    [
        ("ELU, alpha", lambda x, c: np.where(x > 0, x, c * np.expm1(np.minimum(x, 0)))),
        ("CELU, alpha", lambda x, c: np.where(x > 0, x, c * np.expm1(np.minimum(x, 0) / c))),
        ("x sigmoid(c x), c", lambda x, c: x / (1 + np.exp(-c * x))),
        ("softplus, beta", lambda x, c: np.logaddexp(0, c * x) / c),
        ("c tanh(x / c), c", lambda x, c: c * np.tanh(x / c)),
    ]
)


def cases(layer):
    """Inputs of the output's size, perhaps with a gate; or halves of twice the size."""
    y = layer.output
    if y.size < FEW or not y.spread or y.whole:
        return
    near = [x for x in layer.alike() if x.spread]
    ends = [index for x in near + [y] for index in (x.values.argmin(), x.values.argmax())]
    at = np.random.RandomState(0).randint(0, y.size, LOOKED_AT)
    at = np.concatenate([at, ends])
    take = lambda values: values.reshape(-1)[at].astype(np.float64)  # noqa: E731
    values, target = [take(x.values) for x in near], take(y.values)
    tables = [_table(x[:FIRST]) for x in values]
    for n, x in enumerate(near):
        if _close(tables[n], 1, target[:FIRST]) or follows(values[n], target):
            yield Case(layer, [x], x=values[n], y=target, gate=None)
    for n, m in itertools.permutations(range(len(near)), 2):
        if _close(tables[n], values[m][:FIRST], target[:FIRST]):
            yield Case(layer, [near[n], near[m]], x=values[n], y=target, gate=values[m])
    yield from _halves(layer, y, take)


def _table(x):
    """Each activation of the first values."""
    return np.array([shape(x) for shape in SHAPES.values()])


def _close(table, gate, y):
    """Whether an activation, perhaps with a fitted constant, may give the first values."""
    off = np.abs(table * gate - y)
    positive = (table[0] > 0) & (off[list(SHAPES).index("identity")] < NEARLY * size(y))
    return off.max(1).min() < NEARLY * size(y) or positive.mean() > 0.3


def follows(x, y):
    """Whether y seems to depend on x only: if values of x are close, so are those of y.

    x, y: arrays of the same size. Unrelated neighbours differ by 1.4 of the spread.
    """
    some = y.reshape(-1)[np.argsort(x, axis=None, kind="stable")]
    return size(np.diff(some)) < SMOOTH * size(some - some.mean())


def _halves(layer, y, take):
    """A layer of twice the width: one half gates the other."""
    if not y.shape:
        return
    wide = y.shape[:-1] + (2 * y.shape[-1],)
    for array in [array for array in layer.earlier() if array.shape == wide][:NEAR]:
        values, half = full(array), y.shape[-1]
        parts = {
            "first half": values[..., :half],
            "second half": values[..., half:],
            "even places": values[..., 0::2],
            "odd places": values[..., 1::2],
        }
        for names in (("first half", "second half"), ("even places", "odd places")):
            for gated, gate in (names, names[::-1]):
                x, times, target = take(parts[gated]), take(parts[gate]), take(y.values)
                if _close(_table(x[:FIRST]), times[:FIRST], target[:FIRST]):
                    yield Case(layer, [array], x=x, y=target, gate=times, of=gated)


def options(case):
    """Every activation; then the slope of a leaky ReLU and the bounds of a clip, if they fit."""
    for name in SHAPES:
        yield _constants(case, function=name)
    if case.gate is None:
        low = case.x < 0
        if low.any() and (case.x[low] ** 2).sum():
            slope = (case.x[low] * case.y[low]).sum() / (case.x[low] ** 2).sum()
            if 1e-3 < abs(slope) < 0.99:
                yield _constants(case, function="leaky ReLU", slope=slope)
        for name in CURVES:
            constant = _fitted(case, CURVES[name])
            if constant is not None:
                yield _constants(case, function=name, constant=constant)
        low, high = case.y.min(), case.y.max()
        inner = (case.x > low) & (case.x < high)
        if 0.2 < inner.mean() < 0.98:
            yield _constants(case, function="clip", low=low, high=high)


def _fitted(case, curve):
    """A curve's constant to four digits, fitted where it matters most; None if none fits."""
    ends = FROM, TO
    most = np.argmax(np.abs(curve(case.x, 0.5) - curve(case.x, 2.0)))
    x, y = case.x[most], case.y[most]
    down = curve(x, ends[0]) > curve(x, ends[1])
    low, high = ends[::-1] if down else ends
    if not curve(x, low) < y < curve(x, high):
        return None
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if curve(x, middle) < y else (low, middle)
    near = float("%.4g" % low)
    return near if abs(near / low - 1) < 1e-4 and abs(near - 1) > 1e-3 else None


def _constants(case, **constants):
    if hasattr(case, "of"):
        constants["of"] = case.of
    return OrderedDict(sorted(constants.items()))


def off(case, constants):
    """The distance on a sample."""
    if constants.get("of") != getattr(case, "of", None):
        return np.inf
    name = constants["function"]
    if name == "leaky ReLU":
        values = np.where(case.x < 0, constants["slope"] * case.x, case.x)
    elif name in CURVES:
        values = CURVES[name](case.x, constants["constant"])
    elif name == "clip":
        values = np.clip(case.x, constants["low"], constants["high"])
    else:
        values = SHAPES[name](case.x)
    if case.gate is not None:
        values = values * case.gate
    elif size(values - case.x) < 1e-3 * size(case.x):
        return np.inf  # leaves these values as they are, which says nothing
    return size(values - case.y)


def words(constants):
    """The activation's name."""
    says = constants["function"]
    if "slope" in constants:
        says += ", slope %s" % number(constants["slope"])
    if "constant" in constants:
        says += " %s" % number(constants["constant"])
    if "low" in constants:
        says += " between %s and %s" % (number(constants["low"]), number(constants["high"]))
    if "of" in constants:
        says += " of the %s, times the rest" % constants["of"]
    return says


def docs(a, b):
    """The page's anchor for two activations that differ."""
    anchors = {page(a["function"]), page(b["function"])}
    return pages.GELU if anchors == {pages.GELU} else pages.ACTIVATION


def page(name):
    """The page's anchor for an activation."""
    return pages.GELU if name.startswith("GELU") else pages.ACTIVATION
