"""Gluon's levers, and the mistakes of the lessons."""

from frameworks.variants import full_vectors, input_gradient, kept, pool_first, tried

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
    full_vectors(
        (
            "nn.Conv2D(50, 3, padding=1, in_channels=3,",
            "nn.Conv2D(64, 3, padding=1, in_channels=3,",
        ),
        ("Conv2D(50, 3, padding=1, in_channels=50,", "Conv2D(64, 3, padding=1, in_channels=64,"),
        ("Conv2D(100, 3, padding=1, in_channels=50,", "Conv2D(112, 3, padding=1, in_channels=64,"),
        (
            "Conv2D(100, 3, padding=1, in_channels=100,",
            "Conv2D(112, 3, padding=1, in_channels=112,",
        ),
        ("in_units=6400", "in_units=7168"),
        (
            "parameters = network.collect_params()",
            "parameters, weights = network.collect_params(), channels.widened(weights)",
        ),
        (
            'return {name.replace("_", "."): parameter.data().asnumpy() for name, parameter in '
            "parameters}",
            'return channels.cut({name.replace("_", "."): parameter.data().asnumpy() for name, '
            "parameter in parameters})",
        ),
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
