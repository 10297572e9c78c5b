"""NumPy's traps, as patches of its modules."""

from frameworks.variants import trap

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

TRAPS = [
    trap("relu_forgotten", "forward", ("ReLU(settings),", "")),
    trap("dropout_in_prediction", "dropout", ("training=False", "training=True")),
    trap(
        "ties_shared_unsaid",
        "gradient",
        ("random = xp.random", 'settings = dict(settings, ties="all")\nrandom = xp.random'),
    ),
    trap("float64_in_disguise", "trajectory", ('"float32",', '"float64",')),
]
TRAPS += [
    trap(
        "gradient_past_dropout_%d" % layer,
        "dropout",
        LEAKY,
        ("Dropout(settings, drop%d, random)" % layer, "Leaky(settings, drop%d, random)" % layer),
    )
    for layer in (1, 2, 3)
]

TRAPS += [
    trap(
        "relu_forgotten",
        "forward",
        ('Dense(settings, "dense2"),\n    ReLU(settings),', 'Dense(settings, "dense2"),'),
        model="mlp",
    ),
    trap(
        "sigmoid_twice",
        "forward",
        ("Flatten(settings),", "Sigmoid(settings),\n    Flatten(settings),"),
        model="lenet5",
    ),
    trap("relu_forgotten", "forward", ("ReLU(settings), Flatten", "Flatten"), model="mnist_cnn"),
]

TRAPS += [
    trap("gradient_not_truncated", "gradient", ("CHUNK = 10", "CHUNK = 1000"), model="lstm"),
    trap(
        "squared_error_halved",
        "gradient",
        ("squared_error, Adam", "halved, Adam"),
        (
            "def predict(",
            "def halved(values, targets):\n"
            "    value, g = squared_error(values, targets)\n"
            "    return value, g / 2\n\n\n"
            "def predict(",
        ),
        model="lstm",
    ),
    trap(
        "fed_with_the_first_value",
        "forward",
        ("advance(values[-1][:, -1:], lstm.state)", "advance(values[-1][:, :1], lstm.state)"),
        model="lstm",
    ),
    trap(
        "state_kept_between_sequences",
        "gradient",
        ('LSTM(settings, "lstm", CHUNK)', 'Stateful(settings, "lstm", CHUNK)'),
        (
            "def symbol(",
            "class Stateful(LSTM):\n"
            "    state = None\n\n"
            "    def forward(self, x, training, state=None):\n"
            "        return super().forward(x, training, state or self.state)\n\n\n"
            "def symbol(",
        ),
        model="lstm",
    ),
]

TRAPS += [
    trap(
        "stride_on_the_first_convolution",
        "forward",
        ('name + "conv1", name + "norm1")', 'name + "conv1", name + "norm1", stride=stride)'),
        ("size=3, stride=stride)", "size=3)"),
        model="resnet",
    ),
    trap(
        "no_relu_behind_the_sum",
        "forward",
        (
            "network += [Residual(settings, body, shortcut), ReLU(settings)]",
            "network += [Residual(settings, body, shortcut)]",
        ),
        model="resnet",
    ),
    trap(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("[conv, BatchNorm(settings, norm)]", "[conv, Unbiased(settings, norm)]"),
        (
            "def convolution(",
            "class Unbiased(BatchNorm):\n"
            "    def forward(self, x, training):\n"
            "        self.share = (1 - x.shape[1] / x.size) ** 0.5 if training else 1\n"
            "        bias = self.parameters[1][:, None, None]\n"
            "        return self.share * (super().forward(x, training) - bias) + bias\n\n"
            "    def backward(self, g):\n"
            "        g = self.share * super().backward(g)\n"
            "        self.gradients[0] *= self.share\n"
            "        return g\n\n\n"
            "def convolution(",
        ),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        ("[conv, BatchNorm(settings, norm)]", "[conv, ByBatch(settings, norm)]"),
        (
            "def convolution(",
            "class ByBatch(BatchNorm):\n"
            "    def forward(self, x, training):\n"
            "        return super().forward(x, training=True)\n\n\n"
            "def convolution(",
        ),
        model="resnet",
    ),
]

FIRST, SECOND = [
    'LocalResponseNorm(settings), MaxPool(settings, 3, 2), Convolution(settings, "conv%d"'
    % following
    for following in (2, 3)
]

TRAPS += [
    trap(
        "hidden_joints_counted",
        "gradient",
        ("joint_error, optimizer", "counted, optimizer"),
        (
            "def predict(",
            "def counted(outputs, targets):\n"
            "    shown = np.ones_like(targets[..., 2:])\n"
            "    return joint_error(outputs, np.concatenate([targets[..., :2], shown], -1))\n\n\n"
            "def predict(",
        ),
        model="pose",
    ),
    trap(
        "divided_by_all_joints",
        "gradient",
        ("joint_error, optimizer", "divided, optimizer"),
        (
            "def predict(",
            "def divided(outputs, targets):\n"
            "    value, g = joint_error(outputs, targets)\n"
            "    share = targets[..., 2].mean()\n"
            "    return value * share, g * share\n\n\n"
            "def predict(",
        ),
        model="pose",
    ),
    trap(
        "alpha_divided_by_the_size",
        "forward",
        (FIRST, FIRST.replace("LocalResponseNorm", "Weaker")),
        ("def symbol(", "class Weaker(LocalResponseNorm):\n    alpha = 1e-4 / 5\n\n\ndef symbol("),
        model="pose",
    ),
    trap(
        "divisor_taken_as_constant",
        "gradient",
        (SECOND, SECOND.replace("LocalResponseNorm", "Constant")),
        (
            "def symbol(",
            "class Constant(LocalResponseNorm):\n"
            "    def backward(self, g):\n"
            "        return g / self.divisor\n\n\n"
            "def symbol(",
        ),
        model="pose",
    ),
    trap(
        "narrower_on_the_way_back",
        "gradient",
        (FIRST, FIRST.replace("LocalResponseNorm", "Narrower")),
        (
            "def symbol(",
            "class Narrower(LocalResponseNorm):\n"
            "    def backward(self, g):\n"
            "        self.size = 3\n"
            "        g = super().backward(g)\n"
            "        self.size = 5\n"
            "        return g\n\n\n"
            "def symbol(",
        ),
        model="pose",
    ),
    trap(
        "normalised_behind_the_pool",
        "forward",
        (
            SECOND,
            'MaxPool(settings, 3, 2), LocalResponseNorm(settings), Convolution(settings, "conv3"',
        ),
        model="pose",
    ),
    trap(
        "padded_as_in_torchvision", "forward", ("stride=4,", "stride=4, padding=2,"), model="pose"
    ),
    trap(
        "padded_on_the_wrong_side",
        "forward",
        (
            'Convolution(settings, "conv2", padding=2)',
            'Padded(settings), Convolution(settings, "conv2")',
        ),
        ("LocalResponseNorm,", "Layer, LocalResponseNorm,"),
        (
            "def symbol(",
            "class Padded(Layer):\n"
            "    def forward(self, x, training):\n"
            '        return xp.pad(x, ((0, 0), (0, 0), (3, 1), (3, 1)), "constant")\n\n'
            "    def backward(self, g):\n"
            "        return g[:, :, 3:-1, 3:-1]\n\n\n"
            "def symbol(",
        ),
        model="pose",
    ),
]

FORWARD = "rounded(self.layer.forward(rounded(x), training))"

TRAPS += [
    trap(
        "cut_off",
        "forward",
        ("bits + (integer(2 ** (lower - 1) - 1) + last)", "bits"),
        model="bf16",
    ),
    trap("exact_gradients", "gradient", ("gradient[:] = rounded(gradient)", "pass"), model="bf16"),
    trap(
        "weights_alone",
        "forward",
        (FORWARD, "self.layer.forward(x, training)"),
        model="bf16",
    ),
    trap(
        "activations_alone",
        "forward",
        ("[rounded(w) for w in self.parameters]", "self.parameters"),
        model="bf16",
    ),
    trap(
        "one_layer_exact",
        "forward",
        (
            "return " + FORWARD,
            "exact = {'conv3': lambda x: x}.get(self.name, rounded)\n"
            "x = x if self.name == 'conv4' else rounded(x)\n"
            "return exact(self.layer.forward(x, training))",
        ),
        model="bf16",
    ),
    trap(
        "exact_between_layers",
        "gradient",
        ("self.layer.backward(rounded(g))", "self.layer.backward(g)"),
        ("in self.gradients:", "in self.gradients[:1]:"),
        ("None if g is None else rounded(g)", "g"),
        model="bf16",
    ),
]
