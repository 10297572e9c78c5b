"""The MLP in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the weights of a pixel that is black in every image have no gradient. Their mean square
    remains 0, and only epsilon prevents a NaN from 0 / 0.
"""

from frameworks.numpy import cnn
from frameworks.numpy.cnn import evaluate, load, predict, train, wait, weights
from frameworks.numpy.layers import Dense, Flatten, ReLU, cross_entropy, put
from frameworks.numpy.optimizers import Adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, without the settings of its convolutions."""
    settings = cnn.configure(lane, threads, seed)
    del settings["chunk_images"], settings["shares"]
    return settings


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Flatten(settings),  # (N, 784)
        Dense(settings, "dense1", input_gradient=False),  # (N, 1000)
        ReLU(settings),
        Dense(settings, "dense2"),  # (N, 1000)
        ReLU(settings),
        Dense(settings, "dense3"),  # (N, 10)
    ]


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    return network, cross_entropy, Adam(network, hp, settings)
