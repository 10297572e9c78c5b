"""Pose regression with AlexNet in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the momentum, eager execution; the loss is a
    function of tensors.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Local response normalisation: ``alpha`` is divided by the number of squares, so 0.0005 is the 0.0001
    of the paper and of Chainer; ``k`` is 1 by default, 2 in the paper.
Surprise: torchvision's AlexNet is a different network: other widths, conv1 padded by 2, and no
    normalisation.
"""

from collections import OrderedDict

import torch
from torch import nn

from frameworks.pytorch import cnn
from frameworks.pytorch.cnn import configure, load, place, predict, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer; shapes are for a divisor of 4."""
    drop1, drop2 = hp.dropout  # the fraction dropped
    small, middle, large, units = (size // hp.divisor for size in (96, 256, 384, 4096))
    layers = OrderedDict(
        conv1=nn.Conv2d(3, small, 11, stride=4),  # (N, 24, 53, 53)
        relu1=nn.ReLU(),
        norm1=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),
        pool1=nn.MaxPool2d(3, 2),  # (N, 24, 26, 26)
        conv2=nn.Conv2d(small, middle, 5, padding=2),  # (N, 64, 26, 26)
        relu2=nn.ReLU(),
        norm2=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),
        pool2=nn.MaxPool2d(3, 2),  # (N, 64, 12, 12); ceil_mode=True would give 13
        conv3=nn.Conv2d(middle, large, 3, padding=1),  # (N, 96, 12, 12)
        relu3=nn.ReLU(),
        conv4=nn.Conv2d(large, large, 3, padding=1),  # (N, 96, 12, 12)
        relu4=nn.ReLU(),
        conv5=nn.Conv2d(large, middle, 3, padding=1),  # (N, 64, 12, 12)
        relu5=nn.ReLU(),
        pool5=nn.MaxPool2d(3, 2),  # (N, 64, 5, 5)
        flatten=nn.Flatten(),  # (N, 1600)
        dense1=nn.Linear(middle * 25, units),  # (N, 1024)
        relu6=nn.ReLU(),
        drop1=nn.Dropout(drop1),
        dense2=nn.Linear(units, units),  # (N, 1024)
        relu7=nn.ReLU(),
        drop2=nn.Dropout(drop2),
        dense3=nn.Linear(units, 28),  # (N, 28)
        joints=nn.Unflatten(1, (14, 2)),  # (N, 14, 2)
    )
    return place(nn.Sequential(layers), settings)


def joint_error(joints, targets):
    """Mean squared distance of the visible joints of a batch."""
    points, visible = targets[..., :2], targets[..., 2:]
    return ((joints - points).square() * visible).sum() / visible.sum()


def loss(network, settings, hp, weights):
    """As for the CNN, except for the loss."""
    network, _, optimizer = cnn.loss(network, settings, hp, weights)
    return network, joint_error, optimizer


def evaluate(joints, targets):
    """Mean distance of the visible joints, in sides of the image."""
    joints, targets = torch.from_numpy(joints), torch.from_numpy(targets)
    distances = (joints - targets[..., :2]).norm(dim=-1)
    return distances[targets[..., 2] > 0].mean().item()
