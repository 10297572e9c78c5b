"""Recording a pass through a NumPy network.

Idiom: the network is a list of layers; the result of each is kept.
Surprise: layers write into buffers that they use again, so each result is copied; and those of
    convolutions are strips, so the images are cut out of them.
"""

from collections import OrderedDict

import numpy as np

from frameworks.numpy.layers import Dropout, to_numpy, xp
from frameworks.numpy.strips import ConvolutionReLU, ToStrip, pictures


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    found = OrderedDict(x=x)
    x = xp.asarray(x)
    for place, layer in enumerate(network):
        x = layer.forward(x, training=False)
        name = layer.name or "%s%d" % (type(layer).__name__, place)
        if isinstance(layer, ConvolutionReLU):
            images = pictures(x, layer.out_side)[:, :-1, :-1]  # without the borders
            found[name] = np.array(to_numpy(images.transpose(0, 3, 1, 2)))  # (N, C, H, W)
        elif not isinstance(layer, (ToStrip, Dropout)):
            found[name] = np.array(to_numpy(x))
    return found
