"""The residual network in MLX.

Idiom: an ``nn.Module`` for a block, in lists; two optimisers in a ``MultiOptimizer``, because only
    some of the parameters decay.
Layout: NHWC, which is all that MLX's convolutions take; a kernel is (out, height, width, in).
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the learning rate outside the
    velocity.
Batch normalisation: ``momentum=0.1``, MLX's default, is the weight of the new batch, where others
    name the part that is kept. The running variance is divided by n - 1.
Surprise: running means and variances are among ``parameters()``. Only ``trainable_parameters()``
    leaves them out, because they are frozen; even ``unfreeze()`` keeps them so.
"""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
from mlx.utils import tree_flatten

from frameworks.mlx import cnn
from frameworks.mlx.cnn import compiled, evaluate, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, and which running variance is kept."""
    return dict(cnn.configure(lane, threads, seed), running_variance="unbiased")


def convolution(inputs, outputs, size, stride=1):
    """A convolution without bias, which batch normalisation would remove again."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Normalised(nn.Module):
    """A convolution and batch normalisation."""

    def __init__(self, inputs, outputs, size, stride=1):
        super().__init__()
        self.conv, self.norm = convolution(inputs, outputs, size, stride), nn.BatchNorm(outputs)

    def __call__(self, x):
        """Images with other channels, their sides divided by the stride."""
        return self.norm(self.conv(x))


class Block(nn.Module):
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.norm1 = convolution(inputs, width, 1), nn.BatchNorm(width)
        self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm(width)
        self.conv3, self.norm3 = convolution(width, outputs, 1), nn.BatchNorm(outputs)
        self.shortcut = Normalised(inputs, outputs, 1, stride) if first else nn.Identity()

    def __call__(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = nn.relu(self.norm1(self.conv1(x)))
        y = nn.relu(self.norm2(self.conv2(y)))
        return nn.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


class Network(nn.Module):
    """The blocks of four stages, and the scores that they give."""

    def __init__(self, depth):
        super().__init__()
        self.start, inputs = Normalised(3, 16, 3), 16
        self.stages = []
        for stage, blocks in enumerate(BLOCKS[depth], 1):
            width = 8 * 2**stage
            self.stages.append([])
            for block in range(blocks):
                stride = 2 if stage > 1 and block == 0 else 1
                self.stages[-1].append(Block(inputs, width, stride, first=block == 0))
                inputs = 4 * width
        self.dense = nn.Linear(inputs, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        x = nn.relu(self.start(x))  # (N, 32, 32, 16)
        for stage in self.stages:  # (N, 32, 32, 64), (N, 16, 16, 128), (N, 8, 8, 256), ...
            for block in stage:
                x = block(x)
        x = x.mean(axis=(1, 2))  # (N, 512)
        return self.dense(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(hp.depth)


def canonical(name):
    """The canonical name of a parameter such as ``stages.0.1.norm1.running_mean``."""
    name = name.replace("running_mean", "mean").replace("running_var", "variance")
    if not name.startswith("stages."):
        return name
    _, stage, block, rest = name.split(".", 3)
    return "stage%d.block%d.%s" % (int(stage) + 1, int(block) + 1, rest)


def put(network, weights):
    """Load the canonical weights into the network; kernels have their input channels last."""
    arrays = []
    for name, _ in tree_flatten(network.parameters()):
        w = weights[canonical(name)]
        arrays.append((name, mx.array(w.transpose(0, 2, 3, 1) if w.ndim == 4 else w)))
    network.load_weights(arrays)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    decaying = optim.SGD(hp.learning_rate, momentum=hp.momentum, weight_decay=hp.weight_decay)
    others = optim.SGD(hp.learning_rate, momentum=hp.momentum)
    optimizer = optim.MultiOptimizer([decaying, others], [lambda name, w: w.ndim > 1])

    def mean_loss(x, y):
        return nn.losses.cross_entropy(network(x), y, reduction="mean")  # of scores

    loss_and_gradients = nn.value_and_grad(network, mean_loss)  # not of x

    def step(x, y):
        step_loss, gradients = loss_and_gradients(x, y)
        optimizer.update(network, gradients)
        return step_loss

    return compiled(network, optimizer, step, settings)


def weights(model):
    """Every weight and the state under its canonical name and in its canonical layout."""
    found = {}
    for name, w in tree_flatten(model[0].parameters()):
        w = np.array(w)
        found[canonical(name)] = w.transpose(0, 3, 1, 2).copy() if w.ndim == 4 else w
    return found
