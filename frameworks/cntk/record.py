"""Recording a pass through a CNTK network.

Idiom: ``combine`` makes one function of many outputs; ``depth_first_search`` finds the layers.
Surprise: a layer is a block, with its parameters and operations inside it; ``depth=0``
    keeps the search out of them. ``find_by_name`` finds a layer by its name.
"""

from collections import OrderedDict

import cntk as C


def record(network, x):
    """{name: array} of the images and of each layer's result, in the order of computation."""
    layers = C.logging.depth_first_search(
        network.root_function, lambda node: isinstance(node, C.Function), depth=0
    )[::-1]  # the search goes from the scores back to the images
    arrays = C.combine([layer.output for layer in layers]).eval({network.arguments[0]: x})
    found = OrderedDict(x=x)
    for layer in layers:
        found[layer.name or layer.uid] = arrays[layer.output]
    return found
