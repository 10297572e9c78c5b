"""The new model: PyTorch, channels first, with the weights of the old one.

    tox exec -e pytorch -- python docs/examples/tensorflow1-to-pytorch/port.py IN OUT

Reads weights.npz, forward.npz and steps.npz of the old model from the folder IN, and writes the
port's forward.npz and steps.npz into the folder OUT.
"""

import os
import sys
from collections import OrderedDict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from frameworks.pytorch.record import record


class Network(nn.Module):
    """Scores of a batch of images (N, 3, 16, 16)."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, bias=False)
        self.bn1 = nn.BatchNorm2d(8, eps=1e-3, momentum=0.01)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.relu2 = nn.ReLU()
        self.lrn = nn.LocalResponseNorm(5, alpha=0.02 * 5, beta=0.75, k=1.0)
        self.flatten = nn.Flatten()
        self.dense1 = nn.Linear(256, 32)
        self.relu3 = nn.ReLU()
        self.dense2 = nn.Linear(32, 5)

    def forward(self, x):
        """Padding as TensorFlow's "same" with stride 2: on the far side alone."""
        x = self.conv1(F.pad(x, (0, 1, 0, 1)))  # (N, 8, 8, 8)
        x = self.pool1(self.relu1(self.bn1(x)))  # (N, 8, 4, 4)
        x = self.flatten(self.lrn(self.relu2(self.conv2(x))))  # (N, 256)
        return self.dense2(self.relu3(self.dense1(x)))


NAMES = {  # PyTorch's and TensorFlow's
    "conv1.weight": "conv1/kernel",
    "bn1.weight": "bn1/gamma",
    "bn1.bias": "bn1/beta",
    "bn1.running_mean": "bn1/moving_mean",
    "bn1.running_var": "bn1/moving_variance",
    "conv2.weight": "conv2/kernel",
    "conv2.bias": "conv2/bias",
    "dense1.weight": "dense1/kernel",
    "dense1.bias": "dense1/bias",
    "dense2.weight": "dense2/kernel",
    "dense2.bias": "dense2/bias",
}


def converted(name, array):
    """An array of the old model in the new one's layout."""
    if name == "dense1/kernel":  # its inputs are H, W, C
        return array.reshape(4, 4, 16, 32).transpose(3, 2, 0, 1).reshape(32, 256)
    if array.ndim == 4:
        return array.transpose(3, 2, 0, 1)  # from height, width, in, out
    return array.T


def converted_back(name, array):
    """An array of the new model in the old one's layout."""
    if name == "dense1/kernel":
        return array.reshape(32, 16, 4, 4).transpose(2, 3, 1, 0).reshape(256, 32)
    if array.ndim == 4:
        return array.transpose(2, 3, 1, 0)
    return array.T


def put(network, weights):
    """Put the old model's arrays into the new one; each must be there, in the right shape."""
    tensors = {new: converted(old, weights[old]) for new, old in NAMES.items()}
    tensors["bn1.num_batches_tracked"] = np.array(0)
    network.load_state_dict({name: torch.tensor(array) for name, array in tensors.items()})


def steps(network, x, labels):
    """As the old model's steps, under its names and in its layouts."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    network.train()
    arrays, losses = OrderedDict(x=x), []
    for n in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        losses.append(loss.item())
        if n == 0:
            for name, parameter in network.named_parameters():
                gradient = converted_back(NAMES[name], parameter.grad.numpy())
                arrays["gradient of " + NAMES[name]] = gradient.copy()
        optimizer.step()
    arrays["losses"] = np.array(losses, np.float32)
    tensors = network.state_dict()
    for new, old in NAMES.items():
        arrays["after " + old] = converted_back(old, tensors[new].numpy())
    return arrays


def main(source, target):
    """Record the port's pass and its steps on the old model's batch."""
    os.makedirs(target, exist_ok=True)
    weights, forward, trained = (
        np.load(os.path.join(source, name + ".npz")) for name in ("weights", "forward", "steps")
    )
    x = np.ascontiguousarray(forward["x"].transpose(0, 3, 1, 2))
    network = Network()
    put(network, weights)
    np.savez_compressed(os.path.join(target, "forward.npz"), **record(network, x))
    np.savez_compressed(os.path.join(target, "steps.npz"), **steps(network, x, trained["y"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
