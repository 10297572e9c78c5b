"""Mixed precision in TensorFlow 2: products of bfloat16, weights and updates of float32.

Idiom: without Keras no line of the network changes: Grappler rewrites the graph. It knows which
    operations gain from bfloat16, which may take it and which must not, and puts casts between.
Surprise: operations outside a graph are not rewritten, and stay in float32 without a warning. All
    inside may be, the optimiser's too: ``momentum * v + g`` follows a product that gains, and
    so would be computed in bfloat16.
"""

import os

import tensorflow as tf

# For CPUs. TensorFlow only documents "auto_mixed_precision", which is float16 on a GPU.
REWRITE = "auto_mixed_precision_onednn_bfloat16"
NOT_REWRITTEN = "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_INFERLIST_REMOVE"


def functions(module):
    """The functions of a network's ``module`` that differ in this lane: {name: function}."""

    def configure(lane, threads, seed):
        """As in lane best; graphs are rewritten for products of bfloat16."""
        settings = module.configure("best", threads, seed)
        tf.config.optimizer.set_experimental_options({REWRITE: True})
        os.environ[NOT_REWRITTEN] = "AddV2"  # the optimiser's; read when a graph is rewritten
        on = tf.config.optimizer.get_experimental_options()[REWRITE]
        return dict(settings, products="bfloat16" if on else "float32")

    return dict(configure=configure)


def product(size):
    """The machine's matrix product of bfloat16, as a function that computes it once."""
    a = tf.ones((size, size), tf.bfloat16)
    return lambda: tf.linalg.matmul(a, a)
