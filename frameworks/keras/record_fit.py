"""Recording a pass through a Keras 3 network that ``fit`` trains.

Idiom: a second model over the same layers; the network is the same, whoever trains it.
"""

from frameworks.keras import record as plain


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    return plain.record(network, x)
