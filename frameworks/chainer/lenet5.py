"""LeNet-5 in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    owns the moments.
Layout: NCHW.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: ``cover_all``, on by default, adds a partial window where the windows do not cover the
    whole input: with pools of 2 x 2, where its size is odd. Both pools here have even inputs.
"""

import chainer
import chainer.functions as F
import chainer.links as L

from frameworks.chainer import cnn
from frameworks.chainer.cnn import evaluate, load, predict, train, wait, weights
from frameworks.chainer.mlp import loss, with_adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam."""
    return with_adam(cnn.configure(lane, threads, seed))


class LeNet5(chainer.Chain):
    """The links hold the weights; ``forward`` applies them and the functions without weights."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 6, 5)
            self.conv2 = L.Convolution2D(6, 16, 5)
            self.conv3 = L.Convolution2D(16, 120, 4)
            self.dense1 = L.Linear(480, 84)
            self.dense2 = L.Linear(84, 10)

    def forward(self, x):
        """Scores of a batch of images."""
        # Sigmoid after the pool: the same numbers, a quarter of the work.
        x = F.sigmoid(F.max_pooling_2d(self.conv1(x), 2, cover_all=False))  # (N, 6, 14, 14)
        x = F.sigmoid(F.max_pooling_2d(self.conv2(x), 2, cover_all=False))  # (N, 16, 5, 5)
        x = F.sigmoid(self.conv3(x))  # (N, 120, 2, 2)
        x = F.sigmoid(self.dense1(x))  # (N, 84); Linear flattens to 480 first, in the order C, H, W
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return LeNet5().to_device(settings["chainer_device"])
