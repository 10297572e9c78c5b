"""The MLP in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, eager execution.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: on a CPU the default optimiser is a Python loop over the parameters. The fused one, a
    single call, must be asked for.
"""

from collections import OrderedDict

import torch
from torch import nn

from frameworks.pytorch import cnn
from frameworks.pytorch.cnn import evaluate, load, place, predict, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but switches of convolutions are not in force."""
    settings = cnn.configure(lane, threads, seed)
    off = sorted({"memory_format", "autotune"} | set(settings["not_in_force"]))
    return dict(settings, not_in_force=off)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    layers = OrderedDict(
        flatten=nn.Flatten(),  # (N, 784)
        dense1=nn.Linear(784, 1000),  # (N, 1000)
        relu1=nn.ReLU(),
        dense2=nn.Linear(1000, 1000),  # (N, 1000)
        relu2=nn.ReLU(),
        dense3=nn.Linear(1000, 10),  # (N, 10), no softmax: the loss applies it
    )
    return place(nn.Sequential(layers), settings)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )
    return network, criterion, optimizer
