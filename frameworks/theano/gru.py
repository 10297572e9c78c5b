"""The GRU in Theano.

Idiom: ``theano.scan`` over the words, which compiles a step to C++ and derives its gradient. The
    GRU is written out, because Theano has none.
Layout: numbers of words (N, T); ``scan`` goes over the first axis, so time is moved there.
Gates: written out here, so the order is ours: reset, update, new, stacked; two biases. The reset
    gate acts after the recurrent product and its bias, as in cuDNN.
Surprise: ``scan`` gives the states of all steps. If only ``h[-1]`` is used, as in prediction, its
    optimiser sees that and keeps no others.
"""

import numpy as np
import theano
from theano import tensor as T
from theano.tensor.nnet import sigmoid

from frameworks.theano import mlp
from frameworks.theano.cnn import dense, evaluate, predict, train, variables, wait, weights
from frameworks.theano.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

UNITS = 100


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) and class numbers (n,), as they are."""
    return sentences, labels


def thirds(x):
    """The parts of each gate."""
    return [x[:, k * UNITS : (k + 1) * UNITS] for k in range(3)]


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Scores of symbolic sentences, in training and in prediction, and the shared variables in them.
    """
    shared = variables(**{"gru.input": (300, 125), "gru.recurrent": (300, 100), "dense": (2, 100)})
    shared["words.weight"] = theano.shared(np.zeros((10000, 125), "float32"))

    def cell(x, h):
        h_r, h_z, h_n = thirds(dense(h, shared, "gru.recurrent"))  # (N, 100) each
        x_r, x_z, x_n = thirds(x)
        reset, update = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
        new = T.tanh(x_n + reset * h_n)
        return (1 - update) * new + update * h

    words = T.lmatrix("words")
    x = shared["words.weight"][words.T]  # (T, N, 125)
    x = dense(x, shared, "gru.input")  # (T, N, 300): one product for all steps
    h, _ = theano.scan(cell, x, T.zeros((words.shape[0], UNITS)))  # (T, N, 100)
    scores = dense(h[-1], shared, "dense")  # (N, 2), no softmax: the loss applies it
    return words, (scores, scores), shared
