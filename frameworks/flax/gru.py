"""The GRU in Flax NNX, on JAX, with Optax.

Idiom: a cell is a module that takes a state and an input, and ``nnx.RNN`` takes it through a
    sentence, with ``lax.scan``.
Layout: numbers of words (N, T); kernels (in, out).
Gates: reset, update, new, side by side; two biases. The reset gate acts after the recurrent product
    and its bias, as in cuDNN.
Surprise: the formula in the docstring of ``nnx.GRUCell`` has a recurrent bias; its code has none.
    The reset gate multiplies that bias, so the input's cannot replace it. A module's layer can be
    replaced: here by one that has a bias.
"""

import optax
from flax import nnx

from frameworks.flax import gpt, mlp
from frameworks.flax.cnn import evaluate, predict, train, wait
from frameworks.flax.gpt import put

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

LAYERS = {"gru.cell.dense_i": "gru.input", "gru.cell.dense_h": "gru.recurrent"}  # canonical names


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


class Network(nnx.Module):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self, rngs):
        self.words = nnx.Embed(10000, 125, rngs=rngs)
        cell = nnx.GRUCell(125, 100, rngs=rngs)
        cell.dense_h = nnx.Linear(100, 300, rngs=rngs)  # the cell's own has no bias
        self.gru = nnx.RNN(cell, return_carry=True)
        self.dense = nnx.Linear(100, 2, rngs=rngs)

    def __call__(self, words):
        """Scores (N, 2) of sentences (N, T)."""
        state, _ = self.gru(self.words(words))  # (N, 100): the last step's
        return self.dense(state)  # no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(nnx.Rngs(settings["seed"]))


def shared_name(name):
    """The canonical name of Flax's."""
    layer, _, kind = name.rpartition(".")
    return f"{LAYERS.get(layer, layer)}.{kind}"


def loss(network, settings, hp, weights):
    """The model: network and optimiser, with the initial weights."""
    put(network, weights, shared_name)
    adam = optax.adam(hp.learning_rate, hp.beta1, hp.beta2, hp.epsilon)
    return network, nnx.Optimizer(network, adam, wrt=nnx.Param)


def weights(model):
    """Every weight under its canonical name; Flax's kernels are (in, out)."""
    return {shared_name(name): w for name, w in gpt.weights(model).items()}
