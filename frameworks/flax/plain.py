"""The CNN in Flax NNX as a tutorial writes it: an ``nnx.Module``, Optax, a compiled step.

The bench times it beside the lanes: ``tox run -e bench -- flax:plain flax:best``.
"""

from functools import partial

import numpy as np
import optax
from flax import nnx

CHANNELS_LAST = True


class Network(nnx.Module):
    """The layers, and the scores that they give."""

    def __init__(self, rngs):
        self.conv1 = nnx.Conv(3, 50, (3, 3), rngs=rngs)
        self.conv2 = nnx.Conv(50, 50, (3, 3), rngs=rngs)
        self.conv3 = nnx.Conv(50, 100, (3, 3), rngs=rngs)
        self.conv4 = nnx.Conv(100, 100, (3, 3), rngs=rngs)
        self.dense1 = nnx.Linear(6400, 512, rngs=rngs)
        self.dense2 = nnx.Linear(512, 10, rngs=rngs)
        self.pool = partial(nnx.max_pool, window_shape=(2, 2), strides=(2, 2))
        self.dropout1 = nnx.Dropout(0.25, rngs=rngs)
        self.dropout2 = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = nnx.relu(self.conv1(x))  # (N, 32, 32, 50)
        x = self.pool(nnx.relu(self.conv2(x)))  # (N, 16, 16, 50)
        x = self.dropout1(x)
        x = nnx.relu(self.conv3(x))  # (N, 16, 16, 100)
        x = self.pool(nnx.relu(self.conv4(x)))  # (N, 8, 8, 100)
        x = self.dropout1(x)
        x = nnx.relu(self.dense1(x.reshape(x.shape[0], -1)))  # (N, 6400), (N, 512)
        x = self.dropout2(x)
        return self.dense2(x)  # (N, 10)


def mean_loss(network, x, y):
    """The loss of a batch."""
    return optax.softmax_cross_entropy_with_integer_labels(network(x), y).mean()


@nnx.jit
def step(network, optimizer, x, y):
    """One step of training."""
    loss, gradients = nnx.value_and_grad(mean_loss)(network, x, y)
    optimizer.update(network, gradients)
    return loss


def build(learning_rate=0.01):
    """The model: network and optimiser."""
    network = Network(nnx.Rngs(0))
    return network, nnx.Optimizer(network, optax.sgd(learning_rate, 0.9), wrt=nnx.Param)


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 32, 32, 3), labels: (n,)."""
    network, optimizer = model
    network.train()
    order = np.random.permutation(len(images))
    for first in range(0, len(images), 64):
        rows = order[first : first + 64]
        loss = step(network, optimizer, images[rows], labels[rows])
    return loss
