"""Chainer's levers, and the mistakes of the lessons."""

from frameworks.variants import full_vectors, input_gradient, kept, mkl_paths, pool_first, tried

LEVERS = [
    kept("ideep", "iDeep", ("best and", "False and")),
    kept("type_check", "type checks left out", ("type_check = not best", "type_check = True")),
    *mkl_paths(),
    tried(
        "by_hand",
        "the loss's backward pass written by hand",
        (
            "def joint_error(",
            "from frameworks.chainer.by_hand import joint_error\n\n\ndef by_autograd(",
        ),
        model="pose",
    ),
    pool_first(
        *(
            (
                "F.max_pooling_2d(F.relu(self.%s(x)), 2, cover_all=False)" % layer,
                "F.relu(F.max_pooling_2d(self.%s(x), 2, cover_all=False))" % layer,
            )
            for layer in ("conv2", "conv4")
        )
    ),
    full_vectors(
        ("L.Convolution2D(3, 50, 3, pad=1)", "L.Convolution2D(3, 64, 3, pad=1)"),
        ("L.Convolution2D(50, 50, 3, pad=1)", "L.Convolution2D(64, 64, 3, pad=1)"),
        ("L.Convolution2D(50, 100, 3, pad=1)", "L.Convolution2D(64, 112, 3, pad=1)"),
        ("L.Convolution2D(100, 100, 3, pad=1)", "L.Convolution2D(112, 112, 3, pad=1)"),
        ("L.Linear(6400, 512)", "L.Linear(7168, 512)"),
        (  # iDeep's dropout is wrong with such channels: docs/findings.md
            "return F.dropout(x, rate, mask=mask)",
            'x = F.dropout(F.copy(x, "@numpy"), rate, mask=mask)\nreturn F.copy(x, "@numpy")',
        ),
        (
            "for layer in network.children():",
            "weights = channels.widened(weights)\nfor layer in network.children():",
        ),
        ("return found", "return channels.cut(found)"),
    ),
    input_gradient(("network.device.send(x)", "chainer.Variable(network.device.send(x))")),
]

LESSONS = {
    "softmax_twice": (("criterion(network(x), y)", "criterion(F.softmax(network(x)), y)"),),
    "dropout_in_prediction": (('"train", False', '"train", True'),),
}
