"""Recurrent layers with recorded weights: which block of the weights is which gate."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import sigmoid
from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full

DOCS = pages.GATES
GRU, LSTM = "rzn", "ifgo"
BIASES = ("the input's bias alone", "the state's bias alone")
BEFORE, NEW = "reset before the product", "the update gate's share is the new state's"
ONE, PLAIN = "1 added before the forget gate's sigmoid", "no tanh of the cell"
BACK = "from the last step to the first"
CHANGES = {"GRU": (BEFORE, NEW, BACK), "LSTM": (ONE, PLAIN, BACK)}
STATES = 128
BATCH = 8


def cases(layer):
    """(batch, time, states) from an earlier (batch, time, inputs), with weights of these sizes."""
    y = layer.output
    if len(y.shape) != 3 or not y.spread or y.shape[2] > STATES:
        return
    states = y.shape[2]
    inputs = (x for x in layer.earlier() if len(x.shape) == 3 and x.shape[:2] == y.shape[:2])
    for x in itertools.islice(inputs, 3):
        for gates in (3, 4):
            yield from _weighted(layer, x, states, gates)


def _weighted(layer, x, states, gates):
    """Pairs of matrices with up to two biases, in the order of their names."""
    width = gates * states
    matrices = [
        (weight, full(weight) if weight.shape[0] == width else full(weight).T)
        for weight in layer.weights(2)
        if width in weight.shape
    ]
    biases = [bias for bias in layer.biases if bias.shape in ((width,), (2, width))]
    inner = [(w, m) for w, m in matrices if m.shape == (width, states)]
    outer = [(w, m) for w, m in matrices if m.shape == (width, x.shape[2])]
    for (one, wx), (two, wh) in itertools.islice(itertools.product(outer, inner), 6):
        if one is two:
            continue
        bias = _biases([bias for bias in biases if _goes_with(bias, one, two)], width)
        tables = dict(x=full(x)[:BATCH], y=full(layer.output)[:BATCH], wx=wx, wh=wh)
        tables = {name: table.astype(np.float64) for name, table in tables.items()}
        yield Case(layer, [x], bias=bias, gates=gates, **tables)


def _goes_with(bias, *weights):
    """Whether a bias has the last part of these weights' names, or otherwise the same name."""
    last = bias.name.replace("/", "_").split("_")[-1]
    return any(last == weight.name.replace("/", "_").split("_")[-1] for weight in weights) or any(
        bias.name.replace("bias", "") == weight.name.replace("weight", "") for weight in weights
    )


def _biases(chosen, width):
    """Two rows: the input's bias and the state's."""
    rows = [row for bias in chosen for row in full(bias).reshape(-1, width)]
    rows = [row.astype(np.float64) for row in rows] + [np.zeros(width)] * 2
    return rows[0], rows[1]


def options(case):
    """Every order of the gates, in the usual cell and with one change."""
    cell, kinds = ("GRU", GRU) if case.gates == 3 else ("LSTM", LSTM)
    biases = [name for name, row in zip(BIASES, case.bias) if row.any()]
    changes = CHANGES[cell] + (BIASES + ("no bias",) if len(biases) == 2 else ())
    for change in ("",) + changes:
        for order in itertools.permutations(kinds):
            yield OrderedDict(cell=cell, gates=" ".join(order), change=change)


def off(case, constants):
    """The distance over all steps."""
    kinds = GRU if constants["cell"] == "GRU" else LSTM
    if len(kinds) != case.gates:
        return np.inf
    states = case.y.shape[2]
    order = constants["gates"].split(" ")
    at = {
        kind: slice(order.index(kind) * states, (order.index(kind) + 1) * states) for kind in kinds
    }
    run = _gru if constants["cell"] == "GRU" else _lstm
    h, total = np.zeros((len(case.x), states)), 0.0
    cell = np.zeros_like(h)
    steps, change = range(case.x.shape[1]), constants["change"]
    bias = [row * (change not in BIASES[:n] + BIASES[n + 1 :]) for n, row in enumerate(case.bias)]
    bias = [row * (change != "no bias") for row in bias]
    for step in steps[::-1] if change == BACK else steps:
        h, cell = run(case, bias, case.x[:, step], h, cell, at, change)
        total += ((h - case.y[:, step]) ** 2).mean()
        if step == steps[-1 if change == BACK else 0] and total > 1e-3 * case.layer.output.rms**2:
            return np.inf
    return float(np.sqrt(total / case.x.shape[1]))


def _gru(case, bias, x, h, cell, at, change):
    sums = {k: (np.dot(x, case.wx[s].T) + bias[0][s]) for k, s in at.items()}
    own = {k: (np.dot(h, case.wh[s].T) + bias[1][s]) for k, s in at.items()}
    r, z = sigmoid(sums["r"] + own["r"]), sigmoid(sums["z"] + own["z"])
    inner = r * own["n"]
    if change == BEFORE:
        inner = np.dot(r * h, case.wh[at["n"]].T) + bias[1][at["n"]]
    n = np.tanh(sums["n"] + inner)
    if change == NEW:
        z = 1 - z
    return (1 - z) * n + z * h, cell


def _lstm(case, bias, x, h, cell, at, change):
    both = {
        k: np.dot(x, case.wx[s].T) + np.dot(h, case.wh[s].T) + bias[0][s] + bias[1][s]
        for k, s in at.items()
    }
    forget = sigmoid(both["f"] + (change == ONE))
    cell = forget * cell + sigmoid(both["i"]) * np.tanh(both["g"])
    return sigmoid(both["o"]) * (cell if change == PLAIN else np.tanh(cell)), cell


def words(constants):
    """The cell in words."""
    says = "%s, gates in the order %s" % (constants["cell"], constants["gates"])
    return says + (", " + constants["change"] if constants["change"] else "")
