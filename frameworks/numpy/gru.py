"""The GRU in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: numbers of words (N, T), activations (N, T, features); padding comes first.
Gates: reset, update, new, stacked; two biases.
Surprise: the reset gate acts after the recurrent product and its bias, as in cuDNN. Cho's paper has
    it before the product; then one bias is enough.
"""

from frameworks.numpy import mlp
from frameworks.numpy.cnn import evaluate, predict, train, wait, weights
from frameworks.numpy.layers import GRU, Dense, LastStep, cross_entropy, put
from frameworks.numpy.optimizers import Adam
from frameworks.numpy.transformer import Embedding

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the MLP, but for the layout; there are no pools."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NT")
    del settings["ties"]
    return settings


def load(sentences, labels, settings):
    """Numbers of words (n, T) and class numbers (n,), as they are."""
    return sentences, labels


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Embedding(settings, "words"),  # (N, T, 125)
        GRU(settings, "gru"),  # (N, T, 100)
        LastStep(settings),  # (N, 100)
        Dense(settings, "dense"),  # (N, 2)
    ]


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    return network, cross_entropy, Adam(network, hp, settings)
