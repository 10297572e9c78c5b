"""The MLP in PyTorch.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, eager execution.
Layout: rows of 784 pixels.
Adam: both moments corrected for their bias, epsilon beside the root of the second.
Surprise: ``fused=True`` is the fastest form of the optimiser on a CPU too, and must be asked for.
"""

import torch
from torch import nn

from frameworks.pytorch.cnn import configure, evaluate, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

LAYERS = ("dense1", "dense2", "dense3")


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.Sequential(
        nn.Flatten(),  # (N, 784)
        nn.Linear(784, 1000),  # (N, 1000)
        nn.ReLU(),
        nn.Linear(1000, 1000),  # (N, 1000)
        nn.ReLU(),
        nn.Linear(1000, 10),  # (N, 10), no softmax: the loss applies it
    )
    return network.to(settings["device"])


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights put in place."""
    shared = [torch.from_numpy(w) for w in weights.values()]
    network.load_state_dict(dict(zip(network.state_dict(), shared)))
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        fused=settings["fused_optimizer"],
    )
    return network, criterion, optimizer


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    names = [layer + kind for layer in LAYERS for kind in (".weight", ".bias")]
    tensors = model[0].state_dict().values()
    return {name: tensor.numpy(force=True).copy() for name, tensor in zip(names, tensors)}
