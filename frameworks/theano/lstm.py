"""The LSTM in Theano.

Idiom: ``theano.scan`` over the steps, which compiles them to C++ and derives their gradient. The
    LSTM is written out, because Theano has none.
Layout: sequences (N, T, 1); ``scan`` goes over the first axis, so time is moved there.
Gates: written out here, so the order is ours: input, forget, cell, output, stacked; one
    bias.
State: zeros at the start of every sequence, passed from step to step; ``disconnected_grad``
    at the start of a chunk cuts the gradient.
Surprise: ``scan`` has a ``truncate_gradient``, but it counts from the end of the sequence: steps
    before the last ten would get no gradient at all.
"""

import numpy as np
import theano
from theano import tensor as T
from theano.gradient import disconnected_grad

from frameworks.theano import mlp
from frameworks.theano.cnn import compiled, dense, load, train, variables, wait, weights
from frameworks.theano.mlp import adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

STEPS = 40  # in a sequence
CHUNK = 10  # steps through which the gradient flows back


def configure(lane, threads, seed):
    """As for the MLP, except for the layout; no array here is large enough for OpenMP."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC")
    return dict(settings, not_in_force=settings["not_in_force"] + ["openmp"])


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Values of symbolic sequences in training and in prediction, and the shared variables in them.
    """
    shared = variables(dense1=(5, 1))
    shared["lstm.input.weight"] = theano.shared(np.zeros((20, 5), "float32"))
    shared["lstm.recurrent.weight"] = theano.shared(np.zeros((20, 5), "float32"))
    shared["lstm.bias"] = theano.shared(np.zeros(20, "float32"))
    shared.update(variables(dense2=(1, 5)))

    def cell(x, h, c):
        gates = T.dot(dense(x, shared, "dense1"), shared["lstm.input.weight"].T)  # (N, 20)
        gates += T.dot(h, shared["lstm.recurrent.weight"].T) + shared["lstm.bias"]
        i, f, g, o = [gates[:, 5 * k : 5 * k + 5] for k in range(4)]
        c = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
        return T.nnet.sigmoid(o) * T.tanh(c), c

    def follow(x, starts, h, c):
        h, c = [T.switch(starts, disconnected_grad(part), part) for part in (h, c)]
        return cell(x, h, c)

    def go_on(value, h, c):
        h, c = cell(value, h, c)
        return dense(h, shared, "dense2"), h, c

    x = T.tensor3("x")
    zeros = T.zeros((x.shape[0], 5))
    sequences = [x.dimshuffle(1, 0, 2), T.eq(T.arange(STEPS) % CHUNK, 0)]  # (T, N, 1), (T,)
    (h, c), _ = theano.scan(follow, sequences, [zeros, zeros])  # (T, N, 5) each
    ahead = dense(h, shared, "dense2")  # (T, N, 1)
    (free, _, _), _ = theano.scan(go_on, None, [ahead[-1], h[-1], c[-1]], n_steps=STEPS)
    values = [ahead, T.concatenate([ahead, free])]
    return x, [part.dimshuffle(1, 0, 2) for part in values], shared  # (N, T, 1), (N, 2 T, 1)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (values, _), shared = network
    for name, w in shared.items():
        w.set_value(weights[name])
    y = T.tensor3("y")
    cost = ((values - y) ** 2).mean()  # over the batch and its steps
    gradients = T.grad(cost, list(shared.values()))  # not for x
    return compiled(network, y, cost, adam(shared.values(), gradients, hp), settings)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    return model[1](x)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(np.sqrt(np.mean((values - targets) ** 2)))
