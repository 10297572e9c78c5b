"""The LSTM in PyTensor.

Idiom: ``pytensor.scan`` over the steps, which compiles them (by default with Numba, here to C++)
    and derives their gradient. The LSTM is written out, because PyTensor has none.
Layout: sequences (N, T, 1); ``scan`` goes over the first axis, so time is moved there.
Gates: written out here, so the order is ours: input, forget, cell, output, stacked; one
    bias.
State: zeros at the start of every sequence, passed from step to step; ``disconnected_grad``
    at the start of a chunk cuts the gradient.
Surprise: ``scan`` still returns its updates beside the results, and warns that a later version will
    not; given ``return_updates=False`` it returns the results alone.
"""

import numpy as np
import pytensor
from pytensor import tensor as pt
from pytensor.gradient import disconnected_grad

from frameworks.pytensor import mlp
from frameworks.pytensor.cnn import compiled, dense, load, train, variables, wait, weights
from frameworks.pytensor.mlp import adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

STEPS = 40  # of a sequence
CHUNK = 10  # steps that the gradient goes back through


def configure(lane, threads, seed):
    """As for the MLP, but for the layout; no array here is large enough for OpenMP."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC")
    return dict(settings, not_in_force=settings["not_in_force"] + ["openmp"])


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Symbolic sequences, their values in training and in prediction, and the shared variables in
    them.
    """
    shared = variables(dense1=(5, 1))
    for name, shape in (("input.weight", (20, 5)), ("recurrent.weight", (20, 5)), ("bias", (20,))):
        shared["lstm." + name] = pytensor.shared(np.zeros(shape, "float32"), shape=shape)
    shared.update(variables(dense2=(1, 5)))

    def cell(x, h, c):
        gates = pt.dot(dense(x, shared, "dense1"), shared["lstm.input.weight"].T)  # (N, 20)
        gates += pt.dot(h, shared["lstm.recurrent.weight"].T) + shared["lstm.bias"]
        i, f, g, o = [gates[:, 5 * k : 5 * k + 5] for k in range(4)]
        c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
        return pt.sigmoid(o) * pt.tanh(c), c

    def follow(x, starts, h, c):
        h, c = [pt.switch(starts, disconnected_grad(part), part) for part in (h, c)]
        return cell(x, h, c)

    def go_on(value, h, c):
        h, c = cell(value, h, c)
        return dense(h, shared, "dense2"), h, c

    x = pt.tensor("x", shape=(None, STEPS, 1), dtype="float32")
    zeros = pt.zeros((x.shape[0], 5), "float32")
    sequences = [x.transpose(1, 0, 2), pt.eq(pt.arange(STEPS) % CHUNK, 0)]  # (T, N, 1), (T,)
    h, c = pytensor.scan(follow, sequences, [zeros, zeros], return_updates=False)  # (T, N, 5) each
    ahead = dense(h, shared, "dense2")  # (T, N, 1)
    start = [ahead[-1], h[-1], c[-1]]
    free, _, _ = pytensor.scan(go_on, None, start, n_steps=STEPS, return_updates=False)
    values = [ahead, pt.concatenate([ahead, free])]
    values = [part.transpose(1, 0, 2) for part in values]  # (N, T, 1), (N, 2 T, 1)
    return x, values, shared, {}


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (values, _), shared, _ = network
    for name, w in shared.items():
        w.set_value(weights[name])
    y = pt.tensor3("y")
    cost = ((values - y) ** 2).mean()  # over the batch and its steps
    gradients = pt.grad(cost, list(shared.values()))  # none is asked for x
    return compiled(network, y, cost, adam(shared.values(), gradients, hp), settings)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    return model[1](x)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(np.sqrt(np.mean((values - targets) ** 2)))
