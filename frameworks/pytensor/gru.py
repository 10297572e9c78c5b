"""The GRU in PyTensor.

Idiom: ``pytensor.scan`` over the words, which compiles a step (by default with Numba, here to C++)
    and derives its gradient. The GRU is written out, because PyTensor has none.
Layout: numbers of words (N, T); ``scan`` goes over the first axis, so time is moved there.
Gates: written out here, so the order is ours: reset, update, new, stacked; two biases. The reset
    gate acts after the recurrent product and its bias, as in cuDNN.
Surprise: the gradient of ``table[words]`` is a whole table, zeros but for a few rows. Adam moves
    the other rows too, as long as their moments are not 0.
"""

import numpy as np
import pytensor
from pytensor import tensor as pt

from frameworks.pytensor import mlp
from frameworks.pytensor.cnn import dense, evaluate, predict, train, variables, wait, weights
from frameworks.pytensor.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

UNITS = 100


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) and class numbers (n,), as they are."""
    return sentences, labels


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Symbolic sentences, their scores in training and in prediction, and the shared variables in
    them.
    """
    shared = variables(**{"gru.input": (300, 125), "gru.recurrent": (300, 100), "dense": (2, 100)})
    table = np.zeros((10000, 125), "float32")
    shared["words.weight"] = pytensor.shared(table, "words.weight", shape=table.shape)

    def cell(x, h):
        h_r, h_z, h_n = pt.split(dense(h, shared, "gru.recurrent"), 3 * [UNITS], axis=1)
        x_r, x_z, x_n = pt.split(x, 3 * [UNITS], axis=1)  # (N, 100) each
        reset, update = pt.sigmoid(x_r + h_r), pt.sigmoid(x_z + h_z)
        new = pt.tanh(x_n + reset * h_n)
        return (1 - update) * new + update * h

    words = pt.lmatrix("words")
    x = shared["words.weight"][words.T]  # (T, N, 125)
    x = dense(x, shared, "gru.input")  # (T, N, 300): one product for all steps
    start = pt.zeros((words.shape[0], UNITS), "float32")
    h = pytensor.scan(cell, x, start, return_updates=False)  # (T, N, 100)
    scores = dense(h[-1], shared, "dense")  # (N, 2), no softmax: the loss applies it
    return words, (scores, scores), shared, {}
