"""Recording a pass through a Chainer network.

Idiom: a ``FunctionHook``, which is called around every function while it is in force. A
    ``LinkHook`` would see the links only, and no pool or ReLU.
Surprise: a function hook sees a function's inputs, not its results; a result is the next
    function's input.
"""

from collections import OrderedDict

import chainer
from chainer.backends import cuda


class Recorder(chainer.FunctionHook):
    """Copies the first array that each function takes."""

    name = "Recorder"

    def __init__(self):
        self.found = OrderedDict()

    def forward_preprocess(self, function, in_data):
        """Called before a function runs."""
        name = "into %s %d" % (function.label, len(self.found))
        self.found[name] = cuda.to_cpu(in_data[0]).copy()


def record(network, x):
    """{name: array} of each function's input, in the order of computation, and of the scores."""
    with chainer.using_config("train", False), chainer.no_backprop_mode():  # dropout off
        with Recorder() as recorder:
            scores = network(network.device.send(x))
    recorder.found["scores"] = cuda.to_cpu(scores.array)
    return recorder.found
