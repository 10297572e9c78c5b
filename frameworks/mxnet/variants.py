"""Gluon's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, kept, pool_first, tried

LEVERS = [
    kept(
        "not_static",
        "`static_alloc` and `static_shape`",
        ('"static_alloc": best', '"static_alloc": False'),
        ('"static_shape": best', '"static_shape": False'),
    ),
    kept("libgomp", "Intel's OpenMP, not GNU's", LD_PRELOAD=""),
    tried("naive_engine", "the engine without threads", MXNET_ENGINE_TYPE="NaiveEngine"),
    tried("bulk", "up to 100 operators at a time", MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN="100"),
    pool_first(
        ('activation="relu", prefix="conv2_"', 'prefix="conv2_"'),
        ("nn.Dropout(drop1)", 'nn.Activation("relu"), nn.Dropout(drop1)'),
        ('activation="relu", prefix="conv4_"', 'prefix="conv4_"'),
        ("nn.Dropout(drop2)", 'nn.Activation("relu"), nn.Dropout(drop2)'),
    ),
    input_gradient(("x = nd.array(x, device)", "x = nd.array(x, device)\nx.attach_grad()")),
]

LESSONS = {
    "softmax_twice": (("log_softmax(network(x),", "log_softmax(nd.softmax(network(x)),"),),
    "dropout_in_prediction": (
        (
            "return np.concatenate([network(part)",
            "with autograd.train_mode():\n    return np.concatenate([network(part)",
        ),
    ),
}
