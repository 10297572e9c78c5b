"""Images that are near no kink: where rounding cannot tip a ReLU or the choice of a pool.

A ReLU near 0 or two nearly equal pixels in a pooling window send a gradient here in one framework
and there in another, for no fault of either. An allowance for that would be a hole for mistakes, so
the probes use images on which no value of the network comes near a kink.
"""

import numpy as np

from common.proof.reference import unit

DISTANCE = 24  # units of the values' own rounding error in float32
SAME = 1e-12  # equal in float64: windows of a flat patch, or a ReLU's exact 0; not a kink


def _kinks(network, x, training=False):
    """For each ReLU and pool of a reference network: the values, and their distances (n, ...)."""
    for layer in network:
        for values, distances in layer.kinks(x, training):
            yield values, np.where(distances < SAME, np.inf, distances)
        x = layer.forward(x, training)


def clear(references, networks, images, training=False):
    """Which of ``images`` are near no kink of the networks, as booleans (n,).

    references, networks: in float64 and in float32. training: as one batch that is trained on,
    where an image's values depend on the others.
    """
    is_clear = np.ones(len(images), bool)
    both = [
        _kinks(network, reference.module.load(images, None, reference.settings)[0], training)
        for network, reference in zip(networks, references)
    ]
    for (values, distances), (rounded, _) in zip(*both):
        nearest = distances.reshape(len(images), -1).min(1)
        is_clear &= nearest > DISTANCE * unit(values, rounded)
    return is_clear
