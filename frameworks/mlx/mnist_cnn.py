"""The small CNN on MNIST in MLX.

Idiom: an ``nn.Module`` whose ``__call__`` is plain Python, and ``nn.value_and_grad`` of a function
    that calls it; the optimiser writes new arrays into the module.
Layout: NHWC, which is all that MLX's convolutions take; a kernel is (out, height, width, in).
Adam: ``w = w - lr / c1 * m / (sqrt(v) / sqrt(c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t,
    in float32.
Surprise: ``padding`` is a number or a pair; there is no "same".
"""

import mlx.nn as nn

from frameworks.mlx.cnn import evaluate, load, predict, train, wait, weights
from frameworks.mlx.mlp import configure, loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


class Network(nn.Module):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3, padding=1)
        self.dense1 = nn.Linear(1960, 100)
        self.dense2 = nn.Linear(100, 10)
        self.pool = nn.MaxPool2d(2)

    def __call__(self, x):
        """Scores of a batch of images."""
        # The ReLU follows the pool: the same numbers, a quarter of the work.
        x = nn.relu(self.pool(self.conv1(x)))  # (N, 14, 14, 10)
        x = x.transpose(0, 3, 1, 2).flatten(1)  # (N, 1960), in the shared weights' order C, H, W
        x = nn.relu(self.dense1(x))  # (N, 100)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()
