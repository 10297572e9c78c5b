"""Recording a pass through a Keras 2 network, on CNTK or on Theano.

Idiom: a second model over the same layers, whose outputs are those of all of them.
Surprise: a layer with ``activation=`` gives only the activation's result.
"""

from collections import OrderedDict

from keras.models import Model


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    probe = Model(network.inputs, [layer.get_output_at(-1) for layer in network.layers])
    arrays = probe.predict(x)  # dropout off
    return OrderedDict([("x", x)] + list(zip((layer.name for layer in network.layers), arrays)))
