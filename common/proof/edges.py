"""Images that stand on no edge: where rounding cannot tip a ReLU or the choice of a pool.

A ReLU near 0 or two nearly equal pixels in a pooling window send a gradient here in one framework
and there in another, for no fault of either. An allowance for that would be a hole for mistakes, so
the probes use images on which no value of the network comes near an edge.
"""

import numpy as np

from common.proof.reference import unit

DISTANCE = 24  # units of the values' own rounding error in float32
SAME = 1e-12  # equal in float64: windows of a flat patch, or a ReLU's exact 0; not an edge


def _edges(network, x):
    """For each ReLU and pool of a reference network: the values, and their distances (n, ...)."""
    for layer in network:
        before, x = x, layer.forward(x, training=False)
        kind = type(layer).__name__
        if kind == "ReLU":
            yield before, np.abs(before)
        if kind == "Convolution":
            y = layer.before_relu(before)  # (N, H, W, C)
            if layer.pool:
                windows = np.sort([y[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], axis=0)
                y = windows[3]
                gaps = y - windows[:3]
                gaps = np.where(gaps < SAME, np.inf, gaps).min(0)
                # Behind a ReLU that is shut, nobody asks which pixel was the largest.
                yield y, np.where(y > 0, gaps, np.inf)
            yield y, np.abs(y)


def clear(references, hp, weights, images):
    """Which of ``images`` stand on no edge under ``weights``, as booleans (n,).

    references, weights: in float64 and in float32.
    """
    networks = [one.model(hp, own)[0] for one, own in zip(references, weights)]
    found = np.ones(len(images), bool)
    both = [
        _edges(network, one.module.load(images, None, one.settings)[0])
        for network, one in zip(networks, references)
    ]
    for (values, distances), (rounded, _) in zip(*both):
        distances = np.where(distances < SAME, np.inf, distances)
        nearest = distances.reshape(len(images), -1).min(1)
        found &= nearest > DISTANCE * unit(values, rounded)
    return found
