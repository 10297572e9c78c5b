"""A scale and a shift for each channel, from another input, such as a time step's embedding.

Both are parts of one array (FiLM, adaptive norms, the blocks of a diffusion transformer):
x * (1 + scale) + shift, perhaps with an activation after it.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import SHAPES
from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full, size

LOOKED_AT = 256  # values
FEW = 64  # values; fewer tell nothing
PARTS = (2, 3, 4, 6)  # of the array that holds scales and shifts
NEAREST = 6  # arrays that may hold them
INPUTS = 4
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth".split()
AFTER = ("identity", "SiLU", "ReLU", "GELU (by tanh)", "GELU (by erf)")


def cases(layer):
    """Inputs of the output's shape, with arrays that have parts for each of its channels."""
    y = layer.output
    if y.size < FEW or len(y.shape) < 2 or not y.spread or y.whole:
        return
    at = np.random.RandomState(0).randint(0, y.size, LOOKED_AT)
    inputs = [x for x in layer.alike()[:INPUTS] if x.spread]
    for array, parts in itertools.islice(parted(layer, PARTS, at), NEAREST if inputs else 0):
        for x in inputs:
            yield Case(layer, [x, array], x=sample(x, at), y=sample(y, at), parts=parts)


def sample(array, at):
    """An array's values at some places."""
    return array.values.reshape(-1)[at].astype(np.float64)


def parted(layer, counts, at):
    """Yield (earlier array, its parts at places of the output).

    The array has a number for each observation, part and channel. counts: how many parts it may
    have. Channels are on the output's axis 1 or last.
    """
    shape = layer.output.shape
    places = np.unravel_index(at, shape)
    for array in layer.earlier():
        for axis in sorted({1, len(shape) - 1}):
            count, left = divmod(array.size, shape[0] * shape[axis])
            if not left and count in counts and array.shape[0] == shape[0] and array.spread:
                table = full(array).reshape(shape[0], count, -1)
                yield array, table[places[0], :, places[axis]].T.astype(np.float64)


def options(case):
    """Every choice of two parts; with or without 1 + the scale; activations that the range allows.

    Those with the least activation come first.
    """
    low = case.y.min()
    after = AFTER[:1] if low < -0.3 else AFTER
    pairs = itertools.permutations(range(len(case.parts)), 2)
    for name, plus, (scale, shift) in itertools.product(after, (1, 0), pairs):
        yield OrderedDict(scale=scale, shift=shift, of=len(case.parts), plus=plus, after=name)


def off(case, constants):
    """The distance on a sample."""
    if constants["of"] != len(case.parts):
        return np.inf
    scale, shift = (case.parts[constants[part]] for part in ("scale", "shift"))
    return size(SHAPES[constants["after"]](case.x * (constants["plus"] + scale) + shift) - case.y)


def ordered(a, b, inputs):
    """The array of parts: in another order, it would explain the difference."""
    return inputs[-1:]


def words(constants):
    """The function in words."""
    says = "its input times %sthe %s of %d parts, plus the %s" % (
        "1 + " if constants["plus"] else "",
        ORDINALS[constants["scale"]],
        constants["of"],
        ORDINALS[constants["shift"]],
    )
    return says if constants["after"] == "identity" else "%s of %s" % (constants["after"], says)


def docs(a, b):
    """The page's anchor."""
    return pages.ACTIVATION if a["after"] != b["after"] else pages.MODULATION
