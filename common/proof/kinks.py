"""Choose images that are near no kink, so that rounding cannot flip a ReLU or a pool's choice.

With a ReLU near 0, or two nearly equal pixels in a pooling window, correct frameworks may send a
gradient to different places. An allowance for that would let mistakes through. So the probes use
images for which no value in the network is near a kink.
"""

import numpy as np

from common.proof.reference import unit

DISTANCE = 24  # units of the values' own rounding error in float32
SAME = 1e-12  # equal in float64, as in a flat patch, or a ReLU's exact 0: not a kink


class NearKink(ValueError):
    """Every image is near a kink, or the weights are not finite: nothing can be compared."""


def _kinks(network, x, training=False):
    """For each ReLU and pool of a reference network: the values, and their distances (n, ...)."""
    for layer in network:
        for values, distances in layer.kinks(x, training):
            yield values, np.where(distances < SAME, np.inf, distances)
        x = layer.forward(x, training)


def clear(references, networks, images, training=False):
    """Which of ``images`` are near no kink of the networks, as booleans (n,).

    references, networks: in float64 and in float32. training: treat the images as one training
    batch, in which an image's values depend on the others.
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
