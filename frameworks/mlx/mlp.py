"""The MLP in MLX.

Idiom: an ``nn.Module`` whose ``__call__`` is plain Python, and ``nn.value_and_grad`` of a function
    that calls it; the optimiser writes new arrays into the module.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr / c1 * m / (sqrt(v) / sqrt(c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t,
    in float32.
Surprise: ``optim.Adam`` leaves out both corrections unless asked for them.
"""

import mlx.nn as nn
import mlx.optimizers as optim

from frameworks.mlx import cnn
from frameworks.mlx.cnn import compiled, evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN; Adam's corrections are float32."""
    return dict(cnn.configure(lane, threads, seed), adam_scalars="float32 corrections")


class Network(nn.Module):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(784, 1000)
        self.dense2 = nn.Linear(1000, 1000)
        self.dense3 = nn.Linear(1000, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = x.flatten(1)  # (N, 784)
        x = nn.relu(self.dense1(x))  # (N, 1000)
        x = nn.relu(self.dense2(x))  # (N, 1000)
        return self.dense3(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    optimizer = optim.Adam(
        hp.learning_rate, betas=[hp.beta1, hp.beta2], eps=hp.epsilon, bias_correction=True
    )

    def mean_loss(x, y):
        return nn.losses.cross_entropy(network(x), y, reduction="mean")  # of scores

    loss_and_gradients = nn.value_and_grad(network, mean_loss)  # not of x

    def step(x, y):
        step_loss, gradients = loss_and_gradients(x, y)
        optimizer.update(network, gradients)
        return step_loss

    return compiled(network, optimizer, step, settings)
