"""Recording a pass through a Keras 3 network that ``fit`` trains.

Idiom: the plain network's recorder; the network is the same, whoever trains it.
"""

from frameworks.keras import record as plain

EXACT_LACKS = plain.EXACT_LACKS


def record(network, x):
    """{name: array} of the inputs and of each layer's result, in the order of computation."""
    return plain.record(network, x)


def exact(network, x):
    """The same in float64, for ``compare --exact``."""
    return plain.exact(network, x)
