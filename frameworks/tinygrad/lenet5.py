"""LeNet-5 in tinygrad.

Idiom: a plain class whose ``__call__`` builds a lazy graph of ``Tensor`` methods; ``TinyJit``
    records the kernels of a step, and replays them without Python.
Layout: NCHW.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t, in
    float32.
Surprise: ``max_pool2d()`` has windows of 2x2 by default, and their size as its stride.
"""

from tinygrad import nn

from frameworks.tinygrad.cnn import evaluate, load, predict, train, wait, weights
from frameworks.tinygrad.mlp import configure, loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


class Network:
    """The layers, and the scores that they give."""

    def __init__(self):
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.conv3 = nn.Conv2d(16, 120, 4)
        self.dense1 = nn.Linear(480, 84)
        self.dense2 = nn.Linear(84, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        # The sigmoid follows the pool: the same numbers, a quarter of the work.
        x = self.conv1(x).max_pool2d().sigmoid()  # (N, 6, 14, 14)
        x = self.conv2(x).max_pool2d().sigmoid()  # (N, 16, 5, 5)
        x = self.conv3(x).sigmoid()  # (N, 120, 2, 2)
        x = x.flatten(1)  # (N, 480), in the order C, H, W
        x = self.dense1(x).sigmoid()  # (N, 84)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()
