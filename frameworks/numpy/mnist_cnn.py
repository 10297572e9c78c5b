"""The small CNN on MNIST in NumPy, from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW; a convolution copies its windows into the rows of a matrix.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: 99% of the weights are in the first dense layer, and so is nearly all of Adam's work.
"""

from frameworks.numpy.cnn import evaluate, load, predict, train, wait, weights
from frameworks.numpy.layers import Convolution, Dense, Flatten, MaxPool, ReLU
from frameworks.numpy.mlp import configure, loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Convolution(settings, "conv1", padding=1, input_gradient=False),  # (N, 10, 28, 28)
        MaxPool(settings),  # (N, 10, 14, 14)
        ReLU(settings),  # after the pool: the same numbers, a quarter of the work
        Flatten(settings),  # (N, 1960), in the order C, H, W
        Dense(settings, "dense1"),  # (N, 100)
        ReLU(settings),
        Dense(settings, "dense2"),  # (N, 10)
    ]
