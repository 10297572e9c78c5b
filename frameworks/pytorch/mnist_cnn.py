"""The small CNN on MNIST in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, eager execution.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``padding="same"`` is refused with any stride but 1.
"""

from collections import OrderedDict

from torch import nn

from frameworks.pytorch.cnn import configure, evaluate, load, place, predict, train, wait, weights
from frameworks.pytorch.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    layers = OrderedDict(
        conv1=nn.Conv2d(1, 10, 3, padding="same"),  # (N, 10, 28, 28)
        pool1=nn.MaxPool2d(2),  # (N, 10, 14, 14)
        relu1=nn.ReLU(),  # after the pool: the same numbers, a quarter of the work
        flatten=nn.Flatten(),  # (N, 1960), in the order C, H, W
        dense1=nn.Linear(1960, 100),  # (N, 100)
        relu2=nn.ReLU(),
        dense2=nn.Linear(100, 10),  # (N, 10), no softmax: the loss applies it
    )
    return place(nn.Sequential(layers), settings)
