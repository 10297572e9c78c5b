"""Recurrent layers with recorded weights: which block of the weights is which gate."""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.functions import sigmoid
from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full

GRU, LSTM = "rzn", "ifgo"
STATES = 128
BATCH = 8


def cases(layer):
    """(batch, time, states) of an earlier (batch, time, inputs), with weights of these sizes."""
    y = layer.output
    if len(y.shape) != 3 or not y.spread or y.shape[2] > STATES:
        return
    states = y.shape[2]
    for x in itertools.islice((x for x in layer.earlier() if x.shape[:2] == y.shape[:2]), 3):
        for gates in (3, 4):
            yield from _weighted(layer, x, states, gates)


def _weighted(layer, x, states, gates):
    """Pairs of matrices, and none, one or two biases, in the order of their names."""
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
        chosen = [bias for bias in biases if _goes_with(bias, one, two)] or [None]
        yield Case(
            layer,
            [x],
            x=full(x)[:BATCH].astype(np.float64),
            y=full(layer.output)[:BATCH].astype(np.float64),
            wx=wx.astype(np.float64),
            wh=wh.astype(np.float64),
            bias=_biases(chosen, width),
            gates=gates,
        )


def _goes_with(bias, *weights):
    """Whether a bias follows these weights in the file, or has the number of their names."""
    last = [part for part in bias.name.replace("/", "_").split("_") if part]
    return any(
        last[-1] in weight.name.replace("/", "_").split("_")[-1:] for weight in weights
    ) or any(
        bias.name.replace("bias", "") == weight.name.replace("weight", "") for weight in weights
    )


def _biases(chosen, width):
    """Two rows: of the input and of the state."""
    rows = [row for bias in chosen if bias is not None for row in full(bias).reshape(-1, width)]
    rows = [row.astype(np.float64) for row in rows] + [np.zeros(width)] * 2
    return rows[0], rows[1]


def options(case):
    """Every order of the gates; for a GRU with the reset before or after the product."""
    if case.gates == 3:
        for order in itertools.permutations(GRU):
            for after in (True, False):
                yield OrderedDict(cell="GRU", gates=" ".join(order), after=after)
    else:
        for order in itertools.permutations(LSTM):
            yield OrderedDict(cell="LSTM", gates=" ".join(order), after=True)


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
    for step in range(case.x.shape[1]):
        h, cell = run(case, case.x[:, step], h, cell, at, constants["after"])
        total += ((h - case.y[:, step]) ** 2).mean()
        if step == 0 and total > 1e-3 * case.layer.output.rms**2:
            return np.inf
    return float(np.sqrt(total / case.x.shape[1]))


def _gru(case, x, h, cell, at, after):
    sums = {k: (np.dot(x, case.wx[s].T) + case.bias[0][s]) for k, s in at.items()}
    own = {k: (np.dot(h, case.wh[s].T) + case.bias[1][s]) for k, s in at.items()}
    r, z = sigmoid(sums["r"] + own["r"]), sigmoid(sums["z"] + own["z"])
    inner = r * own["n"] if after else np.dot(r * h, case.wh[at["n"]].T) + case.bias[1][at["n"]]
    n = np.tanh(sums["n"] + inner)
    return (1 - z) * n + z * h, cell


def _lstm(case, x, h, cell, at, after):
    both = {
        k: np.dot(x, case.wx[s].T) + np.dot(h, case.wh[s].T) + case.bias[0][s] + case.bias[1][s]
        for k, s in at.items()
    }
    cell = sigmoid(both["f"]) * cell + sigmoid(both["i"]) * np.tanh(both["g"])
    return sigmoid(both["o"]) * np.tanh(cell), cell


def words(constants):
    """The cell in words."""
    says = "%s, gates in the order %s" % (constants["cell"], constants["gates"])
    if not constants["after"]:
        says += ", reset before the product"
    return says


def docs(a, b):
    """The page's anchor."""
    return pages.GATES
