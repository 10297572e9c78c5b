"""Recording a pass through a PyTensor network.

Idiom: a function of the inputs whose outputs are the results of all operations on their way.
Surprise: the graph has many more operations than layers, such as the reshapes of a convolution;
    a compiled function keeps those that are outputs, whatever else it merges. ``FAST_COMPILE`` runs
    them in Python, because compiling them to C takes minutes.
"""

from collections import OrderedDict

import pytensor
from pytensor.graph.traversal import ancestors, io_toposort


def record(network, x):
    """{name: array} of the inputs and of each operation's result, in the order of computation."""
    inputs, (_, scores), _, _ = network  # the graph without dropout
    results = [output for node in io_toposort([inputs], [scores]) for output in node.outputs]
    results = [result for result in results if result.ndim and inputs in ancestors([result])]
    names = ["%s %d" % (result.owner.op, place) for place, result in enumerate(results)]
    arrays = pytensor.function([inputs], results, mode="FAST_COMPILE")(x)
    return OrderedDict([("x", x)] + [(name, inside(array)) for name, array in zip(names, arrays)])


def inside(array):
    """Images (N, H, W, C) without a frame of zeros, as the CNN has it; others as they are."""
    if array.ndim != 4 or not array[:, 1:-1, 1:-1].size:
        return array
    frame = array.copy()
    frame[:, 1:-1, 1:-1] = 0
    return array if frame.any() else array[:, 1:-1, 1:-1]
