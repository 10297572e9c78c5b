"""The CNN in MLX as a tutorial writes it: a module, ``value_and_grad``, ``eval`` after each step.

The bench times it beside the lanes: ``tox run -e bench -- mlx:plain mlx:best``.
"""

import mlx.core as mx
import numpy as np
from mlx import nn, optimizers

CHANNELS_LAST = True


class Network(nn.Module):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2d(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2d(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2d(100, 100, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.linear1 = nn.Linear(6400, 512)
        self.linear2 = nn.Linear(512, 10)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = nn.relu(self.conv1(x))  # (N, 32, 32, 50)
        x = self.pool(nn.relu(self.conv2(x)))  # (N, 16, 16, 50)
        x = self.dropout1(x)
        x = nn.relu(self.conv3(x))  # (N, 16, 16, 100)
        x = self.pool(nn.relu(self.conv4(x)))  # (N, 8, 8, 100)
        x = self.dropout1(x)
        x = nn.relu(self.linear1(x.flatten(1)))  # (N, 6400), (N, 512)
        x = self.dropout2(x)
        return self.linear2(x)  # (N, 10)


def mean_loss(network, x, y):
    """The loss of a batch."""
    return nn.losses.cross_entropy(network(x), y, reduction="mean")


def build(learning_rate=0.01):
    """The model: network, function of its gradient, and optimiser."""
    network = Network()
    mx.eval(network.parameters())
    gradient = nn.value_and_grad(network, mean_loss)
    return network, gradient, optimizers.SGD(learning_rate, momentum=0.9)


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 32, 32, 3), labels: (n,)."""
    network, gradient, optimizer = model
    network.train()
    order = np.random.permutation(len(images))
    for first in range(0, len(images), 64):
        rows = order[first : first + 64]
        loss, gradients = gradient(network, mx.array(images[rows]), mx.array(labels[rows]))
        optimizer.update(network, gradients)
        mx.eval(network.parameters(), optimizer.state)
    return loss.item()
