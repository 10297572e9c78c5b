"""Two mistakes that the original comparison warns of, as changes to each framework's CNN.

They are (old, new) texts of the module, by its folder and, where there is one, its variant. Where a
framework is missing, the mistake is no small change to its module.
"""

CHANGES = {
    # The loss applies a softmax; here the scores have gone through one before.
    "softmax_twice": {
        "pytorch": (("criterion(network(x), y)", "criterion(network(x).softmax(1), y)"),),
        "tensorflow": (("_with_logits(y, scores)", "_with_logits(y, tf.nn.softmax(scores))"),),
        "tensorflow1": (("logits=scores)", "logits=tf.nn.softmax(scores))"),),
        "keras2": (("Dense(10),", 'Dense(10, activation="softmax"),'),),
        "mxnet": (("log_softmax(network(x), ", "log_softmax(nd.softmax(network(x)), "),),
        "mxnet_module": (
            ("SoftmaxOutput(network, ", "SoftmaxOutput(sym.softmax(network), "),
            ("log_softmax(network, ", "log_softmax(sym.softmax(network), "),
        ),
        "cntk": (("with_softmax(network, y)", "with_softmax(C.softmax(network), y)"),),
        "caffe2": (
            (
                'train_model.net.SoftmaxWithLoss(["dense2", "y"]',
                'train_model.net.Softmax("dense2", "once")\n'
                '        train_model.net.SoftmaxWithLoss(["once", "y"]',
            ),
        ),
        "chainer": (("criterion(network(x), y)", "criterion(F.softmax(network(x)), y)"),),
        "theano": (("softmax(train_scores)", "softmax(softmax(train_scores))"),),
    },
    # Dropout left on where the network predicts.
    "dropout_in_prediction": {
        "numpy": (("training=False", "training=True"),),
        "pytorch": (("network.eval()", "network.train()"),),
        "tensorflow": (("training=False)", "training=True)"),),
        "tensorflow1": (("training=False)", "training=True)"),),
        "keras": (
            (
                "return model.predict(x, batch_size=256, verbose=0)",
                "parts = [model(x[i : i + 256], training=True) for i in range(0, len(x), 256)]\n"
                "    return np.concatenate([keras.ops.convert_to_numpy(part) for part in parts])",
            ),
        ),
        "mxnet": (
            (
                "return np.concatenate([network(part)",
                "with autograd.train_mode():\n        return np.concatenate([network(part)",
            ),
        ),
        "mxnet_module": (
            ("DataBatch([nd.array(padded)]))", "DataBatch([nd.array(padded)]), is_train=True)"),
            ("for_training=False, shared_module", "for_training=True, shared_module"),
        ),
        "caffe2": (("is_test=not model.init_params", "is_test=False"),),
        "chainer": (('"train", False', '"train", True'),),
        "theano": (("if not training or rate == 0:", "if rate == 0:"),),
    },
}
