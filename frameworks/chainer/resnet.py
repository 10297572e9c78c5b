"""The residual network in Chainer.

Idiom: a ``Chain`` for a block, a ``ChainList`` of blocks in the network, run eagerly; an optimiser
    that owns the momentum, and a hook on the parameters that decay.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * (g + decay * w); w = w + v``, the learning rate in the velocity.
Batch normalisation: ``decay`` is the part that is kept, and epsilon 2e-5 by default. The running
    variance is divided by n - 1. It runs on NumPy: iDeep's, with several threads on an AMD EPYC,
    gives wrong gradients of some shapes.
Surprise: ``WeightDecay`` added to the optimiser, as in Chainer's examples, decays every parameter,
    biases too. Added to a parameter's ``update_rule``, it decays only that parameter.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda

from frameworks.chainer import cnn
from frameworks.chainer.cnn import evaluate, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, with the convention of the running variance."""
    return dict(cnn.configure(lane, threads, seed), running_variance="unbiased")


class Convolution(chainer.Chain):
    """A convolution and batch normalisation, which would remove a bias again."""

    def __init__(self, inputs, outputs, size=1, stride=1):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(inputs, outputs, size, stride, size // 2, nobias=True)
            self.norm = L.BatchNormalization(outputs, decay=0.9, eps=1e-5)

    def forward(self, x):
        """Normalised images; by the batch itself while ``chainer.config.train`` is set."""
        x = self.conv(x)
        with chainer.using_config("use_ideep", "never"):
            return self.norm(x)


class Block(chainer.Chain):
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first):
        super().__init__()
        with self.init_scope():
            self.part1 = Convolution(inputs, width)
            self.part2 = Convolution(width, width, 3, stride)
            self.part3 = Convolution(width, 4 * width)
            if first:
                self.shortcut = Convolution(inputs, 4 * width, 1, stride)

    def forward(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = self.part3(F.relu(self.part2(F.relu(self.part1(x)))))
        return F.relu(y + (self.shortcut(x) if hasattr(self, "shortcut") else x))


class ResNet(chainer.Chain):
    """The links hold the weights; ``forward`` applies them and the functions without weights."""

    def __init__(self, depth):
        super().__init__()
        self.depth, inputs = depth, 16
        with self.init_scope():
            self.start = Convolution(3, 16, 3)
            self.blocks = chainer.ChainList()
            for stage, blocks in enumerate(BLOCKS[depth], 1):
                for block in range(1, blocks + 1):
                    stride, width = 2 if stage > 1 and block == 1 else 1, 8 * 2**stage
                    self.blocks.append(Block(inputs, width, stride, first=block == 1))
                    inputs = 4 * width
            self.dense = L.Linear(inputs, 10)

    def forward(self, x):
        """Scores of a batch of images."""
        x = F.relu(self.start(x))  # (N, 16, 32, 32)
        for block in self.blocks:
            x = block(x)
        # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
        return self.dense(F.mean(x, (2, 3)))  # (N, 512), (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return ResNet(hp.depth).to_device(settings["chainer_device"])


def tensors(network):
    """{canonical name: (link, attribute)} of every parameter and the state."""
    parts = [("start.conv", "start.norm", network.start)]
    blocks = iter(network.blocks)
    for stage, count in enumerate(BLOCKS[network.depth], 1):
        for number in range(1, count + 1):
            name, block = "stage%d.block%d." % (stage, number), next(blocks)
            for k in (1, 2, 3):
                parts.append((name + "conv%d" % k, name + "norm%d" % k, block["part%d" % k]))
            if number == 1:
                parts.append((name + "shortcut.conv", name + "shortcut.norm", block.shortcut))
    found = {"dense.weight": (network.dense, "W"), "dense.bias": (network.dense, "b")}
    for conv, norm, part in parts:
        found[conv + ".weight"] = part.conv, "W"
        found[norm + ".weight"] = part.norm, "gamma"
        found[norm + ".bias"] = part.norm, "beta"
        found[norm + ".mean"] = part.norm, "avg_mean"
        found[norm + ".variance"] = part.norm, "avg_var"
    return found


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, (link, attribute) in tensors(network).items():
        array = network.device.send(weights[name].copy())
        if attribute.startswith("avg_"):
            setattr(link, attribute, array)
        else:
            getattr(link, attribute).array = array
    criterion = F.softmax_cross_entropy  # softmax and the mean over the batch included
    optimizer = chainer.optimizers.MomentumSGD(lr=hp.learning_rate, momentum=hp.momentum)
    optimizer.setup(network)
    decay = chainer.optimizer_hooks.WeightDecay(hp.weight_decay)
    for parameter in network.params():
        if parameter.ndim > 1:
            parameter.update_rule.add_hook(decay)
    return network, criterion, optimizer


def weights(model):
    """Every weight and the state under its canonical name; Chainer's layouts are canonical."""
    found = {}
    for name, (link, attribute) in tensors(model[0]).items():
        array = getattr(link, attribute)
        array = array if attribute.startswith("avg_") else array.array
        found[name] = np.array(cuda.to_cpu(array))
    return found
