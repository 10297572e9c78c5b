"""The MLP in NumPy, forward and backward from scratch: the reference that the others are held to.

Idiom: a list of layers, each with a forward and a backward pass; what they do is in ``layers.py``.
Layout: rows of 784 pixels.
Adam: both moments corrected for their bias, epsilon beside the root of the second.
Surprise: where a gradient is always 0, as for a pixel that is black in every image, its square mean
    is 0 too, and only epsilon keeps the quotient finite.
"""

from frameworks.numpy.cnn import configure, evaluate, load, loss, predict, wait, weights
from frameworks.numpy.layers import Dense, Flat, ReLU, adam_update, cross_entropy, xp

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return [
        Flat(settings),  # (N, 784)
        Dense(settings, "dense1"),  # (N, 1000)
        ReLU(settings),
        Dense(settings, "dense2"),  # (N, 1000)
        ReLU(settings),
        Dense(settings, "dense3"),  # (N, 10)
    ]


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    network, hp = model
    for x, y in batches:
        x = xp.asarray(x)  # (N, 1, 28, 28)
        for layer in network:
            x = layer.forward(x, training=True)
        step_loss, g = cross_entropy(x, xp.asarray(y))
        for layer in reversed(network):
            g = layer.backward(g)
        for layer in network:
            adam_update(layer, hp)
        yield step_loss
