"""TensorFlow: the kernels of the step's graph, the threads that it keeps busy, and its context."""

import os

import tensorflow as tf
from tensorflow.python.eager import context

from frameworks.effects import busy_threads, threads_called


def in_force(module, settings, model):
    network, step, _ = model
    shape = (64, 3, 32, 32) if settings["layout"] == "NCHW" else (64, 32, 32, 3)
    images, labels = tf.zeros(shape), tf.zeros(64, tf.int64)
    (precision,) = {variable.dtype.name for variable in network.trainable_variables}
    recorded = step.get_concrete_function(images, labels)
    return {
        "precision": precision,
        "threads": busy_threads(lambda: step(images, labels)),
        "threads_between_operations": threads_called("tf_Compute"),
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "onednn": any(op.startswith("_Mkl") for op in kernels(step, images, labels)),
        "graph": len(recorded.graph.get_operations()) > 0,
        "jit": recorded.function_def.attr["_XlaMustCompile"].b,
    }


def kernels(function, *arguments):
    """The operations that a ``tf.function`` runs, after all rewriting of its graph."""
    context.context().enable_run_metadata()
    tf.function(function.python_function)(*arguments)  # again: the first one was not recorded
    ran = context.context().export_run_metadata()
    context.context().disable_run_metadata()
    graphs = [graph for one in ran.function_graphs for graph in one.partition_graphs]
    return {node.op for graph in graphs for node in graph.node}
