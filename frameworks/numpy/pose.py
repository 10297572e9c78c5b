"""Pose regression with AlexNet in NumPy, from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW; a convolution copies its windows into the rows of a matrix.
Momentum: ``v = momentum * v - lr * g; w = w + v``, in place, the learning rate in the velocity.
Local response normalisation: alpha is 0.0001 for each of the five squares.
Pools: 3x3 with stride 2, so windows overlap; a partial window at the border is left out.
Surprise: the loss divides by the number of visible joints, which differs from batch to batch; a
    hidden joint counts neither in the sum nor in the divisor.
"""

import numpy as np

from frameworks.numpy import cnn
from frameworks.numpy.cnn import load, train, wait, weights
from frameworks.numpy.layers import (
    Convolution,
    Dense,
    Dropout,
    Flatten,
    LocalResponseNorm,
    MaxPool,
    ReLU,
    joint_error,
    xp,
)
from frameworks.numpy.mlp import configure

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer; shapes are for a divisor of 4."""
    drop1, drop2 = hp.dropout  # the fraction dropped
    random = xp.random.RandomState(settings["seed"])
    return [
        Convolution(settings, "conv1", stride=4, input_gradient=False),  # (N, 24, 53, 53)
        ReLU(settings),
        LocalResponseNorm(settings),
        MaxPool(settings, 3, 2),  # (N, 24, 26, 26)
        Convolution(settings, "conv2", padding=2),  # (N, 64, 26, 26)
        ReLU(settings),
        LocalResponseNorm(settings),
        MaxPool(settings, 3, 2),  # (N, 64, 12, 12)
        Convolution(settings, "conv3", padding=1),  # (N, 96, 12, 12)
        ReLU(settings),
        Convolution(settings, "conv4", padding=1),  # (N, 96, 12, 12)
        ReLU(settings),
        Convolution(settings, "conv5", padding=1),  # (N, 64, 12, 12)
        ReLU(settings),
        MaxPool(settings, 3, 2),  # (N, 64, 5, 5)
        Flatten(settings),  # (N, 1600)
        Dense(settings, "dense1"),  # (N, 1024)
        ReLU(settings),
        Dropout(settings, drop1, random),
        Dense(settings, "dense2"),  # (N, 1024)
        ReLU(settings),
        Dropout(settings, drop2, random),
        Dense(settings, "dense3"),  # (N, 28)
    ]


def loss(network, settings, hp, weights):
    """As for the CNN, except for the loss."""
    network, _, optimizer = cnn.loss(network, settings, hp, weights)
    return network, joint_error, optimizer


def predict(model, x):
    """Joints (n, 14, 2) of every row, including the last partial batch."""
    return cnn.predict(model, x).reshape(len(x), -1, 2)


def evaluate(joints, targets):
    """Mean distance of the visible joints, in sides of the image."""
    distances = np.sqrt(((joints - targets[..., :2]) ** 2).sum(-1))
    return float(distances[targets[..., 2] > 0].mean())
