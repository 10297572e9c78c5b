"""Recording a pass through a TensorFlow 1 network.

Idiom: ``session.run`` fetches any tensor of the graph, and several at once.
Surprise: a graph has no list of layers; ``extract_sub_graph`` gives the nodes that the scores need.
"""

from collections import OrderedDict

import tensorflow as tf

NOT_COMPUTED = ("Placeholder", "Const", "VariableV2", "Identity")


def record(model, x):
    """{name: array} of the images and of each operation's result, in the order of computation."""
    session, _, (rows, forward) = model  # the graph without dropout
    needed = tf.compat.v1.graph_util.extract_sub_graph(
        session.graph.as_graph_def(), [forward.op.name]
    )
    names = [node.name for node in needed.node if node.op not in NOT_COMPUTED]
    arrays = session.run([name + ":0" for name in names], {rows: x})
    return OrderedDict([("x", x)] + list(zip(names, arrays)))
