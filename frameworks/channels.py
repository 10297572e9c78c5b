"""For a lever of several folders: the CNN with channels that fill vectors of 16 numbers.

Convolutions get 64 channels instead of 50, and 112 instead of 100. The additional ones stay 0:
their kernels and biases are 0, their ReLUs let no gradient through at 0, and only weights of 0 read
them. So it is the same network.
"""

import numpy as np

WIDE = {3: 3, 50: 64, 100: 112}
LAYERS = ("conv1", "conv2", "conv3", "conv4")


def widened(weights):
    """The canonical weights, padded with zeros."""
    wide = dict(weights)
    for name, w in _convolutions(weights):
        more = [(0, WIDE[n] - n) for n in w.shape[:2]] + [(0, 0)] * (w.ndim - 2)
        wide[name] = np.pad(w, more, "constant")
    features = weights["dense1.weight"].reshape(512, 100, 8, 8)
    more = [(0, 0), (0, WIDE[100] - 100), (0, 0), (0, 0)]
    wide["dense1.weight"] = np.pad(features, more, "constant").reshape(512, -1)
    return wide


def cut(weights):
    """The canonical weights of padded ones."""
    narrow, found = {wide: n for n, wide in WIDE.items()}, dict(weights)
    for name, w in _convolutions(weights):
        found[name] = w[tuple(slice(narrow[n]) for n in w.shape[:2])].copy()
    features = weights["dense1.weight"].reshape(512, WIDE[100], 8, 8)
    found["dense1.weight"] = features[:, :100].reshape(512, -1)
    return found


def _convolutions(weights):
    for layer in LAYERS:
        for name in (layer + ".weight", layer + ".bias"):
            yield name, weights[name]
