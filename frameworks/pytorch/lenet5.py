"""LeNet-5 in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, eager execution.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: a convolution pads nothing unless asked to, so that 5x5 takes 32x32 to 28x28.
"""

from collections import OrderedDict

from torch import nn

from frameworks.pytorch.cnn import configure, evaluate, load, place, predict, train, wait, weights
from frameworks.pytorch.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    layers = OrderedDict(
        conv1=nn.Conv2d(3, 6, 5),  # (N, 6, 28, 28)
        pool1=nn.MaxPool2d(2),  # (N, 6, 14, 14)
        sigmoid1=nn.Sigmoid(),  # after the pool: the same numbers, a quarter of the work
        conv2=nn.Conv2d(6, 16, 5),  # (N, 16, 10, 10)
        pool2=nn.MaxPool2d(2),  # (N, 16, 5, 5)
        sigmoid2=nn.Sigmoid(),
        conv3=nn.Conv2d(16, 120, 4),  # (N, 120, 2, 2)
        sigmoid3=nn.Sigmoid(),
        flatten=nn.Flatten(),  # (N, 480), in the order C, H, W
        dense1=nn.Linear(480, 84),  # (N, 84)
        sigmoid4=nn.Sigmoid(),
        dense2=nn.Linear(84, 10),  # (N, 10), no softmax: the loss applies it
    )
    return place(nn.Sequential(layers), settings)
