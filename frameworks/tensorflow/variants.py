"""TensorFlow's levers, and the mistakes of the lessons."""

from frameworks.variants import kept, pool_first, tried

LEVERS = [
    kept("nchw", "NHWC", ('else "NHWC"', 'else "NCHW"')),
    tried("xla", "XLA", ('"jit": bool(best and gpus)', '"jit": best')),
    kept(
        "between",
        "as many operations at once as cores",
        ("set_inter_op_parallelism_threads(at_once)", "set_inter_op_parallelism_threads(1)"),
    ),
    tried(
        "update",
        "the update as one operation",
        (
            "v.assign(hp.momentum * v + g)\nw.assign_sub(hp.learning_rate * v)",
            "tf.raw_ops.ResourceApplyMomentum(\n"
            "    var=w.handle, accum=v.handle, lr=hp.learning_rate, grad=g, momentum=hp.momentum\n"
            ")",
        ),
    ),
    pool_first(
        *(
            (
                "self.pool(tf.nn.relu(self.convolution(x, self.%s)))" % layer,
                "tf.nn.relu(self.pool(self.convolution(x, self.%s)))" % layer,
            )
            for layer in ("conv2", "conv4")
        )
    ),
]

LESSONS = {
    "softmax_twice": (
        (
            "sparse_softmax_cross_entropy_with_logits(y, scores)",
            "sparse_softmax_cross_entropy_with_logits(y, tf.nn.softmax(scores))",
        ),
    ),
    "dropout_in_prediction": (("training=False)", "training=True)"),),
}
