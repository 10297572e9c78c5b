"""Dense layers with a recorded weight, and the order in which a flatten reads its images."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import SHAPES
from common.compare.layers import docs as pages
from common.compare.layers.layer import NEAR, Case, full, size

BETWEEN = ("identity", "ReLU", "GELU (by tanh)", "GELU (by erf)", "tanh", "sigmoid", "SiLU")
ROWS = 512  # of the output that are compared
FIRST = 16  # outputs that are compared before the others
FAR = 0.1  # of their size: no rounding is as large


def cases(layer):
    """Recorded weights of the right size, each with the nearest inputs that fit it."""
    y = layer.output
    if len(y.shape) < 2 or not y.spread or y.whole:
        return
    outputs = y.shape[-1]
    for weight in layer.weights(2):
        values = full(weight).astype(np.float64)
        inputs = {weight.shape[1 - n] for n in (0, 1) if weight.shape[n] == outputs}
        for x in itertools.islice(_inputs(layer, inputs), NEAR) if inputs else ():
            for name in BETWEEN:
                yield Case(layer, [x], weight=values, between=name)


def _inputs(layer, sizes):
    """Yield earlier arrays that a dense layer with so many inputs can take, the nearest first."""
    y = layer.output
    for x in layer.earlier():
        rows = int(np.prod(x.shape[:-1]))
        flat = x.size // layer.rows
        dense = x.shape[-1:] and x.shape[-1] in sizes and rows == y.size // y.shape[-1]
        image = len(x.shape) == 4 and x.shape[0] == layer.rows and flat in sizes
        if dense or (image and len(y.shape) == 2):
            yield x


def options(case):
    """The weight as it is or transposed; a flatten in one order or the other."""
    for transposed in (True, False):
        for order in itertools.permutations((1, 2, 3)) if is_flatten(case) else (None,):
            yield _constants(transposed, order, case.between)


def is_flatten(case):
    """Whether the input is images and the output is rows."""
    x, y = case.inputs[0], case.layer.output
    return len(x.shape) == 4 and len(y.shape) == 2


def _constants(transposed, order, between):
    """transposed: whether the recorded weight has (outputs, inputs)."""
    constants = OrderedDict(weight="(out, in)" if transposed else "(in, out)")
    if order:
        constants["flatten"] = order
    if between != "identity":
        constants["after"] = between
    return constants


def off(case, constants):
    """The distance, once a bias is fitted to the mean of the rows."""
    x, y = full(case.inputs[0]), full(case.layer.output)
    weight = case.weight.T if constants["weight"] == "(out, in)" else case.weight
    order = constants.get("flatten")
    if bool(order) != is_flatten(case):
        return np.inf
    if order:
        x = x.transpose((0,) + tuple(order)).reshape(len(x), -1)
    rows, target = x.reshape(-1, x.shape[-1])[:ROWS], y.reshape(-1, y.shape[-1])[:ROWS]
    if weight.shape != (rows.shape[1], target.shape[1]) or not 4 < len(rows) == len(target):
        return np.inf
    rows = SHAPES[constants.get("after", "identity")](rows.astype(np.float64))
    for some in (slice(0, FIRST), slice(None)):  # few outputs show that a weight is another's
        left = target[:, some] - np.dot(rows, weight[:, some])
        off = size(left - left.mean(0))
        if off > FAR * size(target):
            break
    return off


def words(constants):
    """The dense layer in words."""
    says = "a dense layer, weight %s" % constants["weight"]
    if "after" in constants:
        says += " after " + constants["after"]
    if "flatten" in constants:
        order = ", ".join(str(axis) for axis in constants["flatten"])
        says = "a flatten of A's axes in the order %s, and " % order + says
    return says


def ordered(a, b, inputs):
    """The inputs whose values may be in another order, which would explain the difference."""
    return inputs


def docs(a, b):
    """The page's anchor."""
    if a.get("flatten") != b.get("flatten"):
        return pages.FLATTEN
    return pages.WEIGHTS
