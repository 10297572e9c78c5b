"""Recording a pass through a PyTensor network.

Idiom: a function of the images whose outputs are the results of all operations on their way.
Surprise: a convolution is an operation with a graph of its own, whose results are not among them.
"""

from collections import OrderedDict

import pytensor
from pytensor.graph.traversal import ancestors, io_toposort


def record(network, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""
    images, (_, scores), _, _ = network  # the graph without dropout
    results = [node.outputs[0] for node in io_toposort([images], [scores])]
    results = [result for result in results if images in ancestors([result])]
    names = ["%s %d" % (result.owner.op, place) for place, result in enumerate(results)]
    arrays = pytensor.function([images], results)(x)
    return OrderedDict([("x", x)] + list(zip(names, arrays)))
