"""The LSTM in MLX.

Idiom: an ``nn.Module`` whose ``__call__`` takes and returns the state, and ``nn.value_and_grad`` of
    a function that calls it for each chunk.
Layout: sequences (N, T, 1).
Gates: input, forget, cell, output, stacked; one bias.
State: zeros at the start of every sequence, carried from chunk to chunk; ``stop_gradient``
    between chunks cuts the gradient.
Surprise: ``nn.LSTM`` returns the hidden and the cell states of all steps, and takes those of one;
    the state to carry on from is the last of each.
"""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
from mlx.utils import tree_flatten

from frameworks.mlx import mlp
from frameworks.mlx.cnn import compiled, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps that the gradient goes back through
NAMES = {  # of the parameters: MLX's and the shared ones
    "lstm.Wx": "lstm.input.weight",
    "lstm.Wh": "lstm.recurrent.weight",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def load(sequences, targets, settings):
    """Float32 sequences and targets (n, T, 1), as they are."""
    return sequences, targets


class Network(nn.Module):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(1, 5)
        self.lstm = nn.LSTM(5, 5)
        self.dense2 = nn.Linear(5, 1)

    def __call__(self, x, state=(None, None)):
        """Values of a batch of sequences, and the state after them."""
        hidden, cell = self.lstm(self.dense1(x), *state)  # (N, T, 5) each
        return self.dense2(hidden), (hidden[:, -1], cell[:, -1])  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    names = [name for name, _ in tree_flatten(network.parameters())]
    network.load_weights([(name, mx.array(weights[NAMES.get(name, name)])) for name in names])
    optimizer = optim.Adam(
        hp.learning_rate, betas=[hp.beta1, hp.beta2], eps=hp.epsilon, bias_correction=True
    )

    def mean_loss(x, y):
        state, values = (None, None), []
        for part in mx.split(x, x.shape[1] // CHUNK, axis=1):  # (N, 10, 1)
            value, state = network(part, state)
            state = [mx.stop_gradient(array) for array in state]
            values.append(value)
        # Over the batch and its steps.
        return nn.losses.mse_loss(mx.concatenate(values, axis=1), y, reduction="mean")

    loss_and_gradients = nn.value_and_grad(network, mean_loss)  # not of x

    def step(x, y):
        step_loss, gradients = loss_and_gradients(x, y)
        optimizer.update(network, gradients)
        return step_loss

    return compiled(network, optimizer, step, settings)


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    network = model[0]
    network.eval()
    value, state = network(mx.array(x))  # (N, T, 1)
    values = [value]
    for _ in range(x.shape[1]):
        value, state = network(value[:, -1:], state)  # (N, 1, 1)
        values.append(value)
    return np.array(mx.concatenate(values, axis=1))


def evaluate(values, targets):
    """Root mean square of the difference."""
    return mx.sqrt(nn.losses.mse_loss(mx.array(values), mx.array(targets))).item()


def weights(model):
    """Every weight under its canonical name; MLX's layouts are the canonical ones here."""
    return {NAMES.get(name, name): np.array(w) for name, w in tree_flatten(model[0].parameters())}
