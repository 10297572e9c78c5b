"""Recording a pass through a TensorFlow 2 network, a ``tf.Module``.

Idiom: its call is traced into a graph, which is pruned to one that gives every operation's result.
Surprise: the graph of a ``tf.function`` cannot be pruned; that of ``wrap_function`` can.
"""

from collections import OrderedDict

import tensorflow as tf

NOT_COMPUTED = ("Placeholder", "Const", "ReadVariableOp", "Identity", "NoOp")


def record(network, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""

    def forward(images):
        return network(images, training=False)

    traced = tf.compat.v1.wrap_function(forward, [tf.TensorSpec(x.shape, x.dtype)])
    operations = [op for op in traced.graph.get_operations() if op.type not in NOT_COMPUTED]
    images = next(op for op in traced.graph.get_operations() if op.type == "Placeholder")
    probe = traced.prune(images.outputs[0], [op.outputs[0] for op in operations])
    arrays = [tensor.numpy() for tensor in probe(tf.constant(x))]
    return OrderedDict([("x", x)] + list(zip((op.name for op in operations), arrays)))
