"""Recording a pass through a PyTensor network.

Idiom: a function of the inputs whose outputs are the results of all operations on their way.
Surprise: the graph has many more operations than layers, such as the nine products of a
    convolution; a compiled function keeps those that are outputs, whatever else it merges.
"""

from collections import OrderedDict

import pytensor
from pytensor.graph.traversal import ancestors, io_toposort


def record(network, x):
    """{name: array} of the inputs and of each operation's result, in the order of computation."""
    inputs, (_, scores), _, _ = network  # the graph without dropout
    results = [output for node in io_toposort([inputs], [scores]) for output in node.outputs]
    results = [result for result in results if inputs in ancestors([result])]
    names = ["%s %d" % (result.owner.op, place) for place, result in enumerate(results)]
    arrays = pytensor.function([inputs], results)(x)
    return OrderedDict([("x", x)] + list(zip(names, arrays)))
