"""Rotary embeddings: by halves or pairs, with a base, forward or back, perhaps rounded angles."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import bfloat16, float16
from common.compare.layers import docs as pages
from common.compare.layers.layer import NEAR, VALUES, Case, full, number, size

USUAL = ((None, None), *itertools.product(("halves", "pairs"), (1e4, 5e5, 1e6)))
BASES = (10000.0, 500000.0, 1000000.0, 100000.0, 1000.0, 100.0, 50000.0)
NEARLY = 0.05  # of the lengths, which rounded angles keep, too


def cases(layer):
    """Earlier arrays of the output's size; no input for a table of cosines or sines."""
    y = layer.output
    if not y.spread or y.whole or len(y.shape) < 2:
        return
    if max(map(abs, y.ends)) <= 1 and len(y.shape) <= 4:
        yield from _tables(layer)
    if len(y.shape) not in (3, 4):
        return
    target = full(y)
    inputs = (x for x in layer.earlier() if x.size == y.size and x.spread)
    inputs = (x for x in inputs if abs(x.rms / y.rms - 1) <= 1e-2)  # a rotation keeps lengths
    for x in itertools.islice(inputs, NEAR):
        for values, axis in _forms(full(x), target):
            # The first token is not rotated; a few observations are enough.
            first = [np.take(array, 0, axis) for array in (values, target)]
            if size(first[0] - first[1]) > 1e-2 * y.rms:
                continue
            some = max(1, VALUES // values[0].size)
            y_some = target[:some].astype(np.float64)
            yield Case(layer, [x], x=values[:some], y=y_some, axis=axis, table=False)


def _forms(x, y):
    """Yield (input in the output's shape, axis of the tokens)."""
    width = y.shape[-1]
    if x.shape == y.shape:
        for axis in range(y.ndim - 2, 0, -1):
            yield x.astype(np.float64), axis
    elif x.ndim == 3 and y.ndim == 4 and x.shape[0] == y.shape[0]:
        if x.shape[1] == y.shape[2] and x.shape[2] == y.shape[1] * width:
            split = x.reshape(x.shape[0], x.shape[1], y.shape[1], width).transpose(0, 2, 1, 3)
            yield split.astype(np.float64), 2
        elif x.shape[1] == y.shape[1] and x.shape[2] == y.shape[2] * width:
            yield x.reshape(y.shape).astype(np.float64), 1


def _tables(layer):
    """Tables of cosines or sines, (tokens, width)."""
    values = full(layer.output).astype(np.float64)
    values = values.reshape((-1,) + values.shape[-2:])[0] if values.ndim > 2 else values
    first = values[0]
    if np.allclose(first, 1) or np.allclose(first, 0):
        kind = "cosines" if np.allclose(first, 1) else "sines"
        yield Case(layer, [], y=values, table=True, kind=kind)


def options(case):
    """Halves or pairs; every base; angles in full or rounded precision; forward or back."""
    ways = ("halves", "pairs", "one half") if case.table else _that_keep_lengths(case)
    for base in BASES:
        for rounding in (
            "none",
            "frequencies in bfloat16",
            "angles in bfloat16",
            "angles in float16",
        ):
            for by in ways:
                for back in (False,) if case.table else (False, True):
                    yield OrderedDict(by=by, base=base, rounding=rounding, back=back)


def _that_keep_lengths(case):
    """Which ways of pairing values keep the length of every pair."""
    if case.y.shape[-1] % 2:
        return []
    lengths = [
        [np.hypot(*parts(values, by)) for values in (case.x, case.y)] for by in ("halves", "pairs")
    ]
    return [
        by
        for by, (before, after) in zip(("halves", "pairs"), lengths)
        if size(after - before) <= NEARLY * size(before)
    ]


def angles(tokens, half, base, rounding):
    """The angles, (tokens, half)."""
    frequencies = base ** (-np.arange(half) / float(half))
    if rounding == "frequencies in bfloat16":
        frequencies = bfloat16(frequencies).astype(np.float64)
    made = (np.arange(tokens, dtype="f")[:, None] * frequencies.astype("f")).astype(np.float64)
    if rounding == "angles in bfloat16":
        return bfloat16(made).astype(np.float64)
    return float16(made).astype(np.float64) if rounding == "angles in float16" else made


def off(case, constants):
    """The distance."""
    if case.table:
        return _table_off(case, constants)
    y, axis = case.y, case.axis
    half, tokens = y.shape[-1] // 2, y.shape[axis]
    if y.shape[-1] % 2 or tokens < 2 or half < 2:
        return np.inf
    turn = angles(tokens, half, constants["base"], constants["rounding"])
    turn = turn.reshape((tokens,) + (1,) * (y.ndim - axis - 2) + (half,))
    made = _rotated(case.x, constants["by"], -turn if constants["back"] else turn)
    return size(made - np.concatenate(parts(y, constants["by"]), -1))


def parts(x, by):
    """The two parts that are rotated together: both halves, or even and odd places."""
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if by == "pairs" else (x[..., :half], x[..., half:])


def _table_off(case, constants):
    tokens, width = case.y.shape
    half = width if constants["by"] == "one half" else width // 2
    if half < 2 or tokens < 2 or (width % 2 and half != width):
        return np.inf
    turn = angles(tokens, half, constants["base"], constants["rounding"])
    made = np.cos(turn) if case.kind == "cosines" else np.sin(turn)
    if constants["by"] == "halves":
        made = np.concatenate([made, made], 1)
    elif constants["by"] == "pairs":
        made = np.repeat(made, 2, 1)
    return size(made - case.y)


def words(constants):
    """The rotary embedding in words."""
    says = "rotary embedding by %s" % constants["by"]
    says += ", base %s" % number(constants["base"])
    if constants["rounding"] != "none":
        says += ", " + constants["rounding"]
    return says + (", turned back" if constants["back"] else "")


def ordered(a, b, inputs):
    """The inputs whose values may be in another order, which would explain the difference."""
    return inputs if a["by"] != b["by"] else []


def docs(a, b):
    """The page's anchor."""
    if a["by"] != b["by"]:
        return pages.ROTARY
    return pages.ROTARY_BASE if a["base"] != b["base"] else pages.ROTARY_ROUNDED


def turned(x, by, base):
    """(batch, heads, tokens, width) rotated by places; the features come in another order.

    With both in that order, queries and keys have the same products.
    """
    return _rotated(x, by, angles(x.shape[2], x.shape[3] // 2, base, "none"))


def _rotated(x, by, turn):
    """Both parts of x, turned by these angles, one after the other."""
    first, second = parts(x, by)
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)
