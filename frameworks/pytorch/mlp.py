"""The MLP in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, eager execution.
Layout: rows of 784 pixels.
Adam: both moments corrected for their bias, epsilon added to the root of the corrected second.
Surprise: ``fused=True`` is the fastest form of the optimiser on a CPU too, and must be asked for.
"""

from collections import OrderedDict

import torch
from torch import nn

from frameworks.pytorch.cnn import configure, evaluate, load, place, predict, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


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
    """The model: network, loss and optimiser, with the initial weights put in place."""
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        fused=settings["fused_optimizer"],
    )
    return network, criterion, optimizer
