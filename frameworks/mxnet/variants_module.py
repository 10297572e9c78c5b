"""The Module API's levers, and the mistakes of the lessons."""

from frameworks.variants import input_gradient, pool_first

RELU, POOL = 'x = sym.Activation(x, act_type="relu")\n', "x = sym.Pooling(x, **half)\n"

LEVERS = [
    pool_first(
        *(
            (
                RELU + POOL + "x = sym.Dropout(x, p=%s)" % rate,
                POOL + RELU + "x = sym.Dropout(x, p=%s)" % rate,
            )
            for rate in ("drop1", "drop2")
        )
    ),
    input_gradient(("bind(images, [", "bind(images, inputs_need_grad=True, label_shapes=[")),
]

LESSONS = {
    "softmax_twice": (
        ("SoftmaxOutput(network,", "SoftmaxOutput(sym.softmax(network),"),
        ("log_softmax(network,", "log_softmax(sym.softmax(network),"),
    ),
    "dropout_in_prediction": (
        ("DataBatch([nd.array(padded)])", "DataBatch([nd.array(padded)]), is_train=True"),
        ("for_training=False, shared_module", "for_training=True, shared_module"),
    ),
}
