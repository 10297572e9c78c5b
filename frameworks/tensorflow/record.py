"""Recording a pass through a TensorFlow 2 network, a ``tf.Module`` or another callable, as it is.

Idiom: its call is traced into a graph, which is pruned to one that gives every operation's result.
Surprise: the graph of a ``tf.function`` cannot be pruned; that of ``wrap_function`` can.
"""

import inspect
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

NOT_COMPUTED = ("Placeholder", "Const", "ReadVariableOp", "Identity", "NoOp")
NO_NUMBERS = (tf.resource, tf.variant, tf.string)


def record(network, x):
    """{name: array} of the inputs and of each operation's result, in the order of computation.

    x: an array; a tuple of arrays, in the order of the network's arguments; or a dict of them, by
    their names.
    """
    found = _inputs(x)
    off = {"training": False} if "training" in inspect.signature(network).parameters else {}

    def forward(*tensors):
        if isinstance(x, Mapping):
            return network(**dict(zip(found, tensors)), **off)
        return network(*tensors, **off)

    specs = [tf.TensorSpec(array.shape, array.dtype) for array in found.values()]
    eager = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)  # else an inner tf.function is one operation
    try:
        traced = tf.compat.v1.wrap_function(forward, specs)
    finally:
        tf.config.run_functions_eagerly(eager)
    results = [
        op.outputs[0]
        for op in traced.graph.get_operations()
        if op.type not in NOT_COMPUTED and op.outputs and op.outputs[0].dtype not in NO_NUMBERS
    ]
    probe = traced.prune(traced.inputs[: len(specs)], results)
    arrays = probe(*(tf.constant(array) for array in found.values()))
    found.update((result.op.name, array.numpy()) for result, array in zip(results, arrays))
    return found


def _inputs(x):
    """The inputs under their names."""
    if isinstance(x, Mapping):
        return OrderedDict((name, np.asarray(array)) for name, array in x.items())
    if isinstance(x, (tuple, list)):
        return OrderedDict(("x%d" % n, np.asarray(array)) for n, array in enumerate(x))
    return OrderedDict(x=np.asarray(x))
