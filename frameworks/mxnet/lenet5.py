"""LeNet-5 in MXNet, with Gluon.

Idiom: a Gluon ``HybridSequential``, which ``hybridize`` compiles to a graph; ``autograd.record``;
    a ``Trainer`` that owns the moments.
Layout: NCHW; Gluon's convolutions take NHWC on a GPU only.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: ``in_channels`` may be left out. The weights then have no shape before the first call:
    ``set_data`` accepts any, and ``data()`` raises an error.
"""

import mxnet as mx
from mxnet.gluon import nn

from frameworks.mxnet import cnn
from frameworks.mxnet.cnn import evaluate, load, predict, train, wait, weights
from frameworks.mxnet.mlp import loss, with_adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam."""
    return with_adam(cnn.configure(lane, threads, seed))


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.HybridSequential()
    network.add(
        nn.Conv2D(6, 5, in_channels=3, prefix="conv1_"),  # (N, 6, 28, 28)
        nn.MaxPool2D(2),  # (N, 6, 14, 14)
        nn.Activation("sigmoid"),  # after the pool: the same numbers, a quarter of the work
        nn.Conv2D(16, 5, in_channels=6, prefix="conv2_"),  # (N, 16, 10, 10)
        nn.MaxPool2D(2),  # (N, 16, 5, 5)
        nn.Activation("sigmoid"),
        nn.Conv2D(120, 4, in_channels=16, activation="sigmoid", prefix="conv3_"),  # (N, 120, 2, 2)
        nn.Flatten(),  # (N, 480), in the order C, H, W
        nn.Dense(84, in_units=480, activation="sigmoid", prefix="dense1_"),  # (N, 84)
        nn.Dense(10, in_units=84, prefix="dense2_"),  # (N, 10), no softmax: the loss applies it
    )
    network.initialize(ctx=mx.Context(settings["device"]))
    return network
