"""The GRU in MLX.

Idiom: an ``nn.Module`` whose ``__call__`` loops over the steps in Python, as MLX's own recurrent
    layers do. All inputs are multiplied at once before; only the state's product is in the loop.
Layout: numbers of words (N, T).
Gates: reset, update, new, stacked; two biases, both trained. The reset gate acts after the
    recurrent product and its bias, as in cuDNN.
Compilation: only on a GPU. On a CPU, ``mx.compile`` has each fused kernel built by a C++ compiler.
Surprise: ``nn.GRU`` has a second bias for its new gate alone. Where all gates have two, their sum
    moves twice as far in a step, so the layer is written out here.
"""

import mlx.core as mx
import mlx.nn as nn

from frameworks.mlx import gpt
from frameworks.mlx.cnn import evaluate, predict, train, wait, weights
from frameworks.mlx.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

UNITS = 100


def configure(lane, threads, seed):
    """As for the GPT."""
    return gpt.configure(lane, threads, seed)


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


class GRU(nn.Module):
    """A GRU with two biases."""

    def __init__(self, inputs):
        super().__init__()
        self.input = nn.Linear(inputs, 3 * UNITS)
        self.recurrent = nn.Linear(UNITS, 3 * UNITS)

    def __call__(self, x):
        """The state (N, 100) after the last step of sequences (N, T, inputs)."""
        h = mx.zeros((len(x), UNITS))
        for step in self.input(x).swapaxes(0, 1):  # (N, 300)
            xr, xz, xn = mx.split(step, 3, axis=1)
            hr, hz, hn = mx.split(self.recurrent(h), 3, axis=1)
            reset, update = mx.sigmoid(xr + hr), mx.sigmoid(xz + hz)
            new = mx.tanh(xn + reset * hn)
            h = (1 - update) * new + update * h
        return h


class Network(nn.Module):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10000, 125)
        self.gru = GRU(125)
        self.dense = nn.Linear(UNITS, 2)

    def __call__(self, words):
        """Scores (N, 2) of sentences (N, T)."""
        return self.dense(self.gru(self.words(words)))  # no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()
