"""For a lever of several folders: the CNN with channels that fill vectors of 16 numbers.

Convolutions get 64 channels instead of 50, and 112 instead of 100. The additional ones stay 0:
their kernels and biases are 0, their ReLUs let no gradient through at 0, and only kernels of 0 read
them. So it is the same network.
"""

import numpy as np

LAYERS = ("conv1", "conv2", "conv3", "conv4")
WIDE = {3: 3, 50: 64, 100: 112}


def widened(weights):
    """The canonical weights, the convolutions' padded with zeros."""
    wide = dict(weights)
    for layer in LAYERS:
        for name in (layer + ".weight", layer + ".bias"):
            more = [(0, WIDE[n] - n) for n in weights[name].shape[:2]]
            more += [(0, 0)] * (weights[name].ndim - 2)
            wide[name] = np.pad(weights[name], more, "constant")
    return wide


def cut(weights):
    """The canonical weights of padded ones."""
    narrow = {wide: n for n, wide in WIDE.items()}
    found = dict(weights)
    for layer in LAYERS:
        for name in (layer + ".weight", layer + ".bias"):
            kept = tuple(slice(narrow[n]) for n in weights[name].shape[:2])
            found[name] = weights[name][kept].copy()
    return found
