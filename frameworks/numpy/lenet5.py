"""LeNet-5 in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW; a convolution copies its windows into the rows of a matrix.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the slope of a sigmoid is at most a quarter. Through four of them, little gradient reaches
    the first layer; Adam still moves it, because it divides by the gradient's size.
"""

from frameworks.numpy.cnn import evaluate, load, predict, train, wait, weights
from frameworks.numpy.layers import Convolution, Dense, Flatten, MaxPool, Sigmoid
from frameworks.numpy.mlp import configure, loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Convolution(settings, "conv1", input_gradient=False),  # (N, 6, 28, 28)
        MaxPool(settings),  # (N, 6, 14, 14)
        Sigmoid(settings),  # after the pool: the same numbers, a quarter of the work
        Convolution(settings, "conv2"),  # (N, 16, 10, 10)
        MaxPool(settings),  # (N, 16, 5, 5)
        Sigmoid(settings),
        Convolution(settings, "conv3"),  # (N, 120, 2, 2)
        Sigmoid(settings),
        Flatten(settings),  # (N, 480), in the order C, H, W
        Dense(settings, "dense1"),  # (N, 84)
        Sigmoid(settings),
        Dense(settings, "dense2"),  # (N, 10)
    ]
