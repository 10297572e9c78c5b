"""The NumPy module's own traps, written as changes to its source."""

from common.mistakes.mistake import changed

LEAKY = (
    "def configure(",
    """class Leaky(Dropout):
    def forward(self, x, training):
        if training and self.rate:
            x *= self.random.random_sample(x.shape) >= self.rate
            x /= 1 - self.rate
        return x

    def backward(self, g):
        return g


def configure(""",
)

MISTAKES = [
    changed("relu_forgotten", "forward", ("        ReLU(settings),\n", "")),
    changed("dropout_in_prediction", "dropout", ("training=False", "training=True")),
    changed(
        "ties_shared_unsaid",
        "gradient",
        (
            "    random = xp.random",
            '    settings = dict(settings, ties="all")\n    random = xp.random',
        ),
    ),
    changed("float64_in_disguise", "trajectory", ('"float32",', '"float64",')),
]
MISTAKES += [
    changed(
        "gradient_past_dropout_%d" % layer,
        "dropout",
        LEAKY,
        ("Dropout(settings, drop%d, random)" % layer, "Leaky(settings, drop%d, random)" % layer),
    )
    for layer in (1, 2, 3)
]

MISTAKES += [
    changed(
        "relu_forgotten",
        "forward",
        (
            'Dense(settings, "dense2"),  # (N, 1000)\n        ReLU(settings),',
            'Dense(settings, "dense2"),',
        ),
        model="mlp",
    ),
    changed(
        "sigmoid_twice",
        "forward",
        ("        Flatten(settings),", "        Sigmoid(settings),\n        Flatten(settings),"),
        model="lenet5",
    ),
    changed(
        "relu_forgotten",
        "forward",
        ("        ReLU(settings),  # after the pool", "        # after the pool"),
        model="mnist_cnn",
    ),
]

MISTAKES += [
    changed("gradient_not_truncated", "gradient", ("\nCHUNK = 10", "\nCHUNK = 1000"), model="lstm"),
    changed(
        "squared_error_halved",
        "gradient",
        ("return network, squared_error,", "return network, halved,"),
        (
            "\n\ndef predict(",
            "\n\ndef halved(values, targets):\n"
            "    value, g = squared_error(values, targets)\n"
            "    return value, g / 2\n\n\ndef predict(",
        ),
        model="lstm",
    ),
    changed(
        "fed_with_the_first_value",
        "forward",
        ("advance(values[-1][:, -1:], lstm.state)", "advance(values[-1][:, :1], lstm.state)"),
        model="lstm",
    ),
    changed(
        "state_kept_between_sequences",
        "gradient",
        ('LSTM(settings, "lstm", CHUNK)', 'Stateful(settings, "lstm", CHUNK)'),
        (
            "\n\ndef symbol(",
            "\n\nclass Stateful(LSTM):\n"
            "    state = None\n\n"
            "    def forward(self, x, training, state=None):\n"
            "        return super().forward(x, training, state or self.state)\n"
            "\n\ndef symbol(",
        ),
        model="lstm",
    ),
]

MISTAKES += [
    changed(
        "stride_on_the_first_convolution",
        "forward",
        ('name + "conv1", name + "norm1")', 'name + "conv1", name + "norm1", stride=stride)'),
        ("size=3, stride=stride)", "size=3)"),
        model="resnet",
    ),
    changed(
        "no_relu_behind_the_sum",
        "forward",
        (
            "network += [Residual(settings, body, shortcut), ReLU(settings)]",
            "network += [Residual(settings, body, shortcut)]",
        ),
        model="resnet",
    ),
    changed(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("[conv, BatchNorm(settings, norm)]", "[conv, Unbiased(settings, norm)]"),
        (
            "\n\ndef convolution(",
            "\n\nclass Unbiased(BatchNorm):\n"
            "    def forward(self, x, training):\n"
            "        self.share = (1 - x.shape[1] / x.size) ** 0.5 if training else 1\n"
            "        bias = self.parameters[1][:, None, None]\n"
            "        return self.share * (super().forward(x, training) - bias) + bias\n\n"
            "    def backward(self, g):\n"
            "        g = self.share * super().backward(g)\n"
            "        self.gradients[0] *= self.share\n"
            "        return g\n"
            "\n\ndef convolution(",
        ),
        model="resnet",
    ),
    changed(
        "predicts_with_batch_statistics",
        "forward",
        ("[conv, BatchNorm(settings, norm)]", "[conv, ByBatch(settings, norm)]"),
        (
            "\n\ndef convolution(",
            "\n\nclass ByBatch(BatchNorm):\n"
            "    def forward(self, x, training):\n"
            "        return super().forward(x, training=True)\n"
            "\n\ndef convolution(",
        ),
        model="resnet",
    ),
]

MISTAKES += [
    changed(
        "hidden_joints_counted",
        "gradient",
        ("return network, joint_error,", "return network, counted,"),
        (
            "\n\ndef predict(",
            "\n\ndef counted(outputs, targets):\n"
            "    shown = np.ones_like(targets[..., 2:])\n"
            "    return joint_error(outputs, np.concatenate([targets[..., :2], shown], -1))\n"
            "\n\ndef predict(",
        ),
        model="pose",
    ),
    changed(
        "divided_by_all_joints",
        "gradient",
        ("return network, joint_error,", "return network, divided,"),
        (
            "\n\ndef predict(",
            "\n\ndef divided(outputs, targets):\n"
            "    value, g = joint_error(outputs, targets)\n"
            "    share = targets[..., 2].mean()\n"
            "    return value * share, g * share\n"
            "\n\ndef predict(",
        ),
        model="pose",
    ),
    changed(
        "alpha_divided_by_the_size",
        "forward",
        (
            "LocalResponseNorm(settings),\n        MaxPool(settings, 3, 2),  # (N, 24, 26, 26)",
            "Weaker(settings),\n        MaxPool(settings, 3, 2),",
        ),
        (
            "\n\ndef symbol(",
            "\n\nclass Weaker(LocalResponseNorm):\n    alpha = 1e-4 / 5\n\n\ndef symbol(",
        ),
        model="pose",
    ),
    changed(
        "divisor_taken_as_constant",
        "gradient",
        (
            "LocalResponseNorm(settings),\n        MaxPool(settings, 3, 2),  # (N, 64",
            "Constant(settings),\n        MaxPool(settings, 3, 2),  # (N, 64",
        ),
        (
            "\n\ndef symbol(",
            "\n\nclass Constant(LocalResponseNorm):\n"
            "    def backward(self, g):\n"
            "        return g / self.divisor\n"
            "\n\ndef symbol(",
        ),
        model="pose",
    ),
    changed(
        "narrower_on_the_way_back",
        "gradient",
        (
            "LocalResponseNorm(settings),\n        MaxPool(settings, 3, 2),  # (N, 24",
            "Narrower(settings),\n        MaxPool(settings, 3, 2),  # (N, 24",
        ),
        (
            "\n\ndef symbol(",
            "\n\nclass Narrower(LocalResponseNorm):\n"
            "    def backward(self, g):\n"
            "        self.size = 3\n"
            "        g = super().backward(g)\n"
            "        self.size = 5\n"
            "        return g\n"
            "\n\ndef symbol(",
        ),
        model="pose",
    ),
    changed(
        "normalised_behind_the_pool",
        "forward",
        (
            "LocalResponseNorm(settings),\n        MaxPool(settings, 3, 2),  # (N, 64, 12, 12)",
            "MaxPool(settings, 3, 2),\n        LocalResponseNorm(settings),",
        ),
        model="pose",
    ),
    changed(
        "padded_as_in_torchvision", "forward", ("stride=4,", "stride=4, padding=2,"), model="pose"
    ),
    changed(
        "padded_on_the_wrong_side",
        "forward",
        (
            'Convolution(settings, "conv2", padding=2)',
            'Padded(settings),\n        Convolution(settings, "conv2")',
        ),
        ("    LocalResponseNorm,\n", "    Layer,\n    LocalResponseNorm,\n"),
        (
            "\n\ndef symbol(",
            "\n\nclass Padded(Layer):\n"
            "    def forward(self, x, training):\n"
            '        return xp.pad(x, ((0, 0), (0, 0), (3, 1), (3, 1)), "constant")\n\n'
            "    def backward(self, g):\n"
            "        return g[:, :, 3:-1, 3:-1]\n"
            "\n\ndef symbol(",
        ),
        model="pose",
    ),
]
