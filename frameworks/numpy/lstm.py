"""The LSTM in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: sequences (N, T, 1).
Gates: input, forget, cell, output, stacked; one bias.
State: zeros at the start of every sequence, carried from chunk to chunk; the gradient is not.
Surprise: truncation affects only the gradient, not the values.
"""

import numpy as np

from frameworks.numpy import mlp
from frameworks.numpy.cnn import load, train, wait, weights
from frameworks.numpy.layers import LSTM, Dense, put, squared_error, to_numpy, xp
from frameworks.numpy.optimizers import Adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps through which the gradient flows back


def configure(lane, threads, seed):
    """As for the MLP, except for the layout; there are no pools."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC")
    del settings["ties"]
    return settings


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Dense(settings, "dense1", input_gradient=False),  # (N, T, 5)
        LSTM(settings, "lstm", CHUNK),  # (N, T, 5)
        Dense(settings, "dense2"),  # (N, T, 1)
    ]


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    return network, squared_error, Adam(network, hp, settings)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    dense1, lstm, dense2 = model[0]

    def advance(x, state):
        h = lstm.forward(dense1.forward(x, training=False), training=False, state=state)
        return dense2.forward(h, training=False)

    values = [advance(xp.asarray(x), None)]  # (N, T, 1)
    for _ in range(x.shape[1]):
        values.append(advance(values[-1][:, -1:], lstm.state))  # (N, 1, 1)
    return np.concatenate([to_numpy(part) for part in values], 1)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(np.sqrt(np.mean((values - targets) ** 2)))
