"""Pose regression with AlexNet in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    owns the momentum; the loss is a function of variables.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Local response normalisation: the defaults are the paper's; ``alpha`` is for each square.
Surprise: ``max_pooling_2d`` covers the border with a partial window by default. From 26
    pixels it then makes 13; others make 12.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from frameworks.chainer import cnn
from frameworks.chainer.cnn import dropout, predict, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but without iDeep, which crashes on images this large."""
    settings = cnn.configure(lane, threads, seed)
    if settings["ideep"] == "auto":
        chainer.global_config.use_ideep = settings["ideep"] = "never"
        chainer.get_device("@numpy").use()
        settings["chainer_device"] = "@numpy"
    return settings


def load(images, targets, settings):
    """Float32 images (n, 3, 220, 220) and targets (n, 14, 3), as they are."""
    return images, targets


class AlexNet(chainer.Chain):
    """The links hold the weights; ``forward`` applies them and the functions without weights."""

    def __init__(self, divisor, dropout):
        super().__init__()
        self.dropout = dropout
        small, middle, large, units = (size // divisor for size in (96, 256, 384, 4096))
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, small, 11, stride=4)
            self.conv2 = L.Convolution2D(small, middle, 5, pad=2)
            self.conv3 = L.Convolution2D(middle, large, 3, pad=1)
            self.conv4 = L.Convolution2D(large, large, 3, pad=1)
            self.conv5 = L.Convolution2D(large, middle, 3, pad=1)
            self.dense1 = L.Linear(middle * 25, units)
            self.dense2 = L.Linear(units, units)
            self.dense3 = L.Linear(units, 28)

    def forward(self, x):
        """Joints of a batch of images; shapes are for a divisor of 4."""
        drop1, drop2 = self.dropout  # the fraction dropped, not the fraction kept
        x = F.relu(self.conv1(x))  # (N, 24, 53, 53)
        x = F.local_response_normalization(x)
        x = F.max_pooling_2d(x, 3, stride=2, cover_all=False)  # (N, 24, 26, 26)
        x = F.relu(self.conv2(x))  # (N, 64, 26, 26)
        x = F.local_response_normalization(x)
        x = F.max_pooling_2d(x, 3, stride=2, cover_all=False)  # (N, 64, 12, 12)
        x = F.relu(self.conv3(x))  # (N, 96, 12, 12)
        x = F.relu(self.conv4(x))
        x = F.relu(self.conv5(x))
        x = F.max_pooling_2d(x, 3, stride=2, cover_all=False)  # (N, 64, 5, 5)
        x = F.relu(self.dense1(x))  # (N, 1024); Linear flattens to 1600 first, in the order C, H, W
        x = dropout(x, drop1)
        x = F.relu(self.dense2(x))  # (N, 1024)
        x = dropout(x, drop2)
        return F.reshape(self.dense3(x), (-1, 14, 2))  # (N, 14, 2)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return AlexNet(hp.divisor, hp.dropout).to_device(settings["chainer_device"])


def joint_error(joints, targets):
    """Mean squared distance of the visible joints of a batch."""
    points, visible = targets[..., :2], targets[..., 2:]
    return F.sum((joints - points) ** 2 * visible) / visible.sum()


def loss(network, settings, hp, weights):
    """As for the CNN, except for the loss."""
    network, _, optimizer = cnn.loss(network, settings, hp, weights)
    return network, joint_error, optimizer


def evaluate(joints, targets):
    """Mean distance of the visible joints, in sides of the image."""
    distances = np.linalg.norm(joints - targets[..., :2], axis=-1)
    return float(distances[targets[..., 2] > 0].mean())
