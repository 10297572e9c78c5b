"""Recording a pass through a Theano network.

Idiom: a function of the images whose outputs are the results of all operations on their way.
Surprise: the graph has many more operations than layers, such as the slices that are pooled; a
    compiled function keeps those that are outputs, whatever else it merges.
"""

from collections import OrderedDict

import theano
from theano.gof.graph import ancestors, io_toposort


def record(network, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""
    images, (_, scores), _ = network  # the graph without dropout
    results = [node.outputs[0] for node in io_toposort([images], [scores])]
    results = [result for result in results if images in ancestors([result])]
    names = ["%s %d" % (result.owner.op, place) for place, result in enumerate(results)]
    arrays = theano.function([images], results)(x)
    return OrderedDict([("x", x)] + list(zip(names, arrays)))
