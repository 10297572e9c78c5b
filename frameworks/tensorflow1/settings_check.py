"""TensorFlow 1: its session and its graph, and the threads that a step keeps busy."""

import os

import numpy as np
import tensorflow as tf

from frameworks.effects import busy_threads


def in_force(module, settings, model):
    session, (x, y, step_loss, update), _ = model
    variables = session.graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES)
    (precision,) = {variable.dtype.base_dtype.name for variable in variables}
    batch = {x: np.zeros(x.shape, np.float32), y: np.zeros(y.shape, np.int64)}
    jit = session._config.graph_options.optimizer_options.global_jit_level
    return {
        "precision": precision,
        "threads": busy_threads(lambda: session.run(update, batch)),
        "threads_between_operations": busy_threads(independent_operations()),
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "mkl_dnn": any(
            operation.startswith("_Mkl") for operation in operations(session, update, batch)
        ),
        "graph": session.graph.finalized,
        "jit": jit == tf.OptimizerOptions.ON_1,
    }


def operations(session, fetches, batch):
    """The types of the operations in a session's run, after all rewriting."""
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    session.run(fetches, batch, options, metadata)
    return {node.op for graph in metadata.partition_graphs for node in graph.node}


def independent_operations():
    """A function that runs four products in a new session, each on its own thread if it may."""
    with tf.Graph().as_default() as graph:
        a = tf.random.normal((512, 512))
        products = [tf.matmul(a, a, name="product").op for _ in range(4)]
    session = tf.Session(graph=graph)
    return lambda: session.run(products)
