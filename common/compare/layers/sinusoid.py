"""Sinusoids of positions or time steps: sines first or cosines, and which frequencies.

Of half the columns, number i has the frequency base ** (-i / half the width). Some models divide i
by half the width less 1, or by the width.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.layer import NEAR, Case, full, number, size
from common.compare.layers.rotary import BASES, parts

GREEDY = True
ROWS = 64  # of the output that are compared
OBSERVATIONS = 4  # that must have the same table
NEARLY = 1e-3  # how far the squares of a sine and its cosine may be from 1 together
ORDERS = OrderedDict(
    [
        ("sines, then cosines", ("halves", False)),
        ("cosines, then sines", ("halves", True)),
        ("sines and cosines in turn", ("pairs", False)),
        ("cosines and sines in turn", ("pairs", True)),
    ]
)
DIVISORS = ("half the width", "half the width less 1", "the width")
FACTORS = (1, 1000)  # of the time; some models count it from 0 to 1
FIRST = (0, 1, 2)  # the first token's position


def cases(layer):
    """Earlier arrays with a number for each row; positions for a table, or what is added to one."""
    y = layer.output
    if not y.spread or y.whole or len(y.shape) < 2 or y.shape[-1] % 2 or y.shape[-1] < 4:
        return
    target = _some(y)
    if len(y.shape) == 2 and _ways(target[0]):
        for x in itertools.islice(layer.earlier(floats=False), NEAR):
            if x.size == y.shape[0] and x.spread:
                times = x.values.reshape(-1)[:ROWS].astype(np.float64)
                yield Case(layer, [x], x=times, y=target[0])
    table = _table(target, 0)
    if table is not None:
        yield Case(layer, [], x=None, y=table)
    for x in layer.alike() if len(y.shape) == 3 else ():
        table = _table(target - _some(x), 4 * y.epsilon * max(x.rms, y.rms))
        if table is not None:
            yield Case(layer, [x], x=None, y=table)


def _some(array):
    """(observations, tokens, width): the first of each."""
    values = full(array)
    values = values.reshape((-1,) + values.shape[-2:])[:OBSERVATIONS, :ROWS]
    return values.astype(np.float64)


def _table(values, noise):
    """(tokens, width) that is the same for each observation; None if it is not, or no sinusoid."""
    mean = values.mean(0)
    if len(mean) < 3 or size(values - mean) > noise or not _ways(mean):
        return None
    return mean


def _ways(y):
    """How sines and cosines may be paired: the squares of each pair are 1 together."""
    squares = {by: np.square(parts(y, by)).sum(0) for by in ("halves", "pairs")}
    return [by for by, sums in squares.items() if np.abs(sums - 1).max() < NEARLY]


def options(case):
    """Every order, divisor and base; time in other units, or another first position."""
    starts = FIRST if case.x is None else (0,)
    factors = (1,) if case.x is None else FACTORS
    ways = _ways(case.y)
    for base, divisor, first, factor in itertools.product(BASES, DIVISORS, starts, factors):
        for order, (by, _) in ORDERS.items():
            # With another base, the width as divisor is the same as half of it.
            if by in ways and (base == BASES[0] or divisor != DIVISORS[-1]):
                yield OrderedDict(
                    order=order, divisor=divisor, base=base, first=first, factor=factor
                )


def off(case, constants):
    """The distance, each value relative to the rounding of its angle in float32."""
    width = case.y.shape[1]
    half = width // 2
    divisor = dict(zip(DIVISORS, (half, half - 1, width)))[constants["divisor"]]
    by, exchanged = ORDERS[constants["order"]]
    x = np.arange(len(case.y)) + constants["first"] if case.x is None else case.x
    angles = (x * constants["factor"])[:, None] * constants["base"] ** (-np.arange(half) / divisor)
    made = [np.sin(angles), np.cos(angles)]
    apart = [ours - y for ours, y in zip(made[::-1] if exchanged else made, parts(case.y, by))]
    return size(np.stack(apart) / (1 + np.abs(angles)))


def words(constants):
    """The sinusoid in words."""
    says = "sinusoids, %s, exponents i over %s" % (constants["order"], constants["divisor"])
    if constants["factor"] != 1:
        says += ", the time times %d" % constants["factor"]
    if constants["first"]:
        says += ", counted from %d" % constants["first"]
    return says + ", base %s" % number(constants["base"])


def docs(a, b):
    """The page's anchor."""
    return pages.POSITIONS if a["first"] != b["first"] else pages.SINUSOIDS
