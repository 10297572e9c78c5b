"""The residual network in PyTorch.

Idiom: an ``nn.Module`` for a block, the network an ``nn.Sequential`` of stages; an optimiser with
    two groups of parameters, because only one of them decays.
Layout: NCHW; the best lane keeps that shape and stores it channels-last in memory.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the learning rate outside the
    velocity.
Batch normalisation: ``momentum=0.1``, PyTorch's default, is the weight of the new batch,
    where others name the part that is kept. The running variance is divided by n - 1.
Surprise: ``weight_decay`` decays every parameter of its group, biases and batch normalisation too.
"""

from collections import OrderedDict

import torch
from torch import nn

from frameworks.pytorch import cnn
from frameworks.pytorch.cnn import evaluate, load, place, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, with the convention of the running variance."""
    return dict(cnn.configure(lane, threads, seed), running_variance="unbiased")


def convolution(inputs, outputs, size, stride=1):
    """A convolution without bias, which batch normalisation would remove again."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    """A bottleneck of three convolutions, and a shortcut."""

    def __init__(self, inputs, width, stride, first):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.norm1 = convolution(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.norm3 = convolution(width, outputs, 1), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if first:
            layers = {"conv": convolution(inputs, outputs, 1, stride)}
            self.shortcut = nn.Sequential(OrderedDict(layers, norm=nn.BatchNorm2d(outputs)))

    def forward(self, x):
        """Images with four times ``width`` channels, their sides divided by the stride."""
        y = torch.relu(self.norm1(self.conv1(x)))
        y = torch.relu(self.norm2(self.conv2(y)))
        return torch.relu(self.norm3(self.conv3(y)) + self.shortcut(x))


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    start = OrderedDict(conv=convolution(3, 16, 3), norm=nn.BatchNorm2d(16), relu=nn.ReLU())
    network, inputs = OrderedDict(start=nn.Sequential(start)), 16  # (N, 16, 32, 32)
    for stage, blocks in enumerate(BLOCKS[hp.depth], 1):
        width, layers = 8 * 2**stage, OrderedDict()
        for block in range(1, blocks + 1):
            stride = 2 if stage > 1 and block == 1 else 1
            layers["block%d" % block] = Block(inputs, width, stride, first=block == 1)
            inputs = 4 * width
        network["stage%d" % stage] = nn.Sequential(layers)
    # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
    network["mean"] = nn.AdaptiveAvgPool2d(1)  # (N, 512, 1, 1)
    network["flatten"] = nn.Flatten()  # (N, 512)
    network["dense"] = nn.Linear(inputs, 10)  # (N, 10), no softmax: the loss applies it
    return place(nn.Sequential(network), settings)


def names(network):
    """{PyTorch's name: canonical name}, without the count of batches."""
    return {
        name: name.replace("running_mean", "mean").replace("running_var", "variance")
        for name in network.state_dict()
        if not name.endswith("num_batches_tracked")
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    tensors = network.state_dict()
    for name, shared in names(network).items():
        tensors[name] = torch.from_numpy(weights[shared])
    network.load_state_dict(tensors)
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    decaying = [parameter for parameter in network.parameters() if parameter.ndim > 1]
    others = [parameter for parameter in network.parameters() if parameter.ndim == 1]
    optimizer = torch.optim.SGD(
        [{"params": decaying, "weight_decay": hp.weight_decay}, {"params": others}],
        lr=hp.learning_rate,
        momentum=hp.momentum,
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )
    return network, criterion, optimizer


def weights(model):
    """Every weight and the state under its canonical name; PyTorch's layouts are canonical."""
    tensors = model[0].state_dict()
    return {
        shared: tensors[name].numpy(force=True).copy() for name, shared in names(model[0]).items()
    }
