"""Recording a pass through a Keras 3 network.

Idiom: a second model over the same layers, whose outputs are those of all of them.
Surprise: a layer with ``activation=`` gives only the activation's result.
"""

from collections import OrderedDict

import keras


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    probe = keras.Model(network.inputs, [layer.output for layer in network.layers])
    arrays = probe.predict(x, verbose=0)  # dropout off
    return OrderedDict([("x", x)] + list(zip((layer.name for layer in network.layers), arrays)))
