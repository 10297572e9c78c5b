"""The GRU in JAX.

Idiom: a cell is a function of a state and an input, and ``lax.scan`` takes it through a sentence.
    All inputs are multiplied at once before; only the state's product is in the loop.
Layout: numbers of words (N, T); ``lax.scan`` goes along the first axis, so time comes first inside.
Gates: reset, update, new, stacked; two biases. The reset gate acts after the recurrent product and
    its bias, as in cuDNN.
Surprise: the gradient of ``table[words]`` is a whole table, zeros but for a few rows. Adam moves
    the other rows too, as long as their moments are not 0.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from frameworks.jax import mlp
from frameworks.jax.cnn import dense, evaluate, predict, train, wait, weights
from frameworks.jax.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

UNITS = 100


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


def cell(recurrent, h, x):
    """A step of the GRU: the next state, which is also its output."""
    xr, xz, xn = jnp.split(x, 3, 1)  # (N, 100) each
    hr, hz, hn = jnp.split(dense(h, recurrent), 3, 1)
    reset, update = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
    new = jnp.tanh(xn + reset * hn)
    h = (1 - update) * new + update * h
    return h, h


def symbol(settings, hp):
    """The network, without an activation on its last layer."""

    def network(params, words):
        """Scores (N, 2) of sentences (N, T)."""
        x = params["words"]["weight"][words]  # (N, T, 125)
        x = dense(x, params["gru.input"]).swapaxes(0, 1)  # (T, N, 300)
        start = jnp.zeros((len(words), UNITS))
        h, _ = lax.scan(partial(cell, params["gru.recurrent"]), start, x)  # (N, 100): the last
        return dense(h, params["dense"])  # (N, 2), no softmax: the loss applies it

    return network
