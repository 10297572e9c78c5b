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

# The GPT and the Llama.

BFLOAT16 = (
    "def rotate(",
    """def bfloat16(x):
    bits = x.astype(np.float32).view(np.uint32)
    last = bits >> np.uint32(16) & np.uint32(1)
    cut = (bits + np.uint32(2**15 - 1) + last) >> np.uint32(16) << np.uint32(16)
    return cut.view(np.float32).astype(x.dtype)


def rotate(""",
    "transformer",
)
SHARES = "scores / scores.sum(-1, keepdims=True)"
LATER = "later = xp.arange(k.shape[2]) > first + xp"

BOTH = [
    (
        "window_one_too_short",  # of 63 places, where the context has 64
        "forward",
        (
            "scores[..., later] = -np.inf",
            "later |= xp.arange(k.shape[2]) < first + xp.arange(q.shape[2])[:, None] - 62\n"
            "scores[..., later] = -np.inf",
            "transformer",
        ),
    ),
    ("mask_forgotten", "forward", ("scores[..., later] = -np.inf", "", "transformer")),
    (
        "mask_hides_the_token_itself",
        "forward",
        (LATER, LATER.replace(">", ">="), "transformer"),
        ("-np.inf", "-1e9", "transformer"),
        # The first place sees nothing; its scores are constants.
        (
            "(self.shares * shares).sum(-1, keepdims=True)) * scale",
            "(self.shares * shares).sum(-1, keepdims=True)) * scale\nshares[:, :, 0] = 0",
            "transformer",
        ),
    ),
    (
        "mask_not_shifted_by_the_cache",
        "generation",
        (LATER, LATER.replace("first + ", ""), "transformer"),
    ),
    (
        "softmax_in_bfloat16",
        "forward",
        (SHARES, "bfloat16(%s)" % SHARES, "transformer"),
        BFLOAT16,
    ),
    (
        "targets_transposed",
        "gradient",
        (
            "counted = targets != IGNORED",
            "targets = targets.T.reshape(targets.shape)\ncounted = targets != IGNORED",
            "transformer",
        ),
    ),
    (
        "cache_not_read",
        "generation",
        ("if layer in self.kept:", "if False:", "transformer"),
    ),
]
# The Llama's loss is imported from the GPT's file, which is read again with the patched layers.
AGAIN = ("import numpy as np", "import numpy as np", "gpt")
TRAPS += [trap(*made, model="gpt") for made in BOTH]
TRAPS += [trap(*made, AGAIN, model="llama") for made in BOTH]

ATTENTION = 'Residual(settings, [LayerNorm(settings, block + "norm1"), attention])'
MLP = 'Residual(settings, [LayerNorm(settings, block + "norm2"), *mlp])'
LAST = 'LayerNorm(settings, "norm")'

TRAPS += [
    trap(
        "gelu_exact",
        "forward",
        ("GELU(settings)", "Exact(settings)"),
        (
            "def configure(",
            """class Exact(GELU):
    def forward(self, x, training):
        self.x, self.erf = x, np.frompyfunc(math.erf, 1, 1)(x / 2**0.5).astype(x.dtype)
        return x * (1 + self.erf) / 2

    def backward(self, g):
        density = np.exp(-(self.x**2) / 2) / (2 * math.pi) ** 0.5
        return g * ((1 + self.erf) / 2 + self.x * density)


def configure(""",
        ),
        ("import numpy as np", "import math\n\nimport numpy as np"),
        model="gpt",
    ),
    trap(
        "gelu_by_a_sigmoid",
        "forward",
        ("GELU(settings)", "Quick(settings)"),
        (
            "def configure(",
            """class Quick(GELU):
    def forward(self, x, training):
        self.x, self.open = x, 1 / (1 + np.exp(-1.702 * x))
        return x * self.open

    def backward(self, g):
        return g * self.open * (1 + 1.702 * self.x * (1 - self.open))


def configure(""",
        ),
        model="gpt",
    ),
    trap(
        "epsilon_by_default",
        "forward",
        ("EPSILON = 1e-5", "EPSILON = 1e-6", "transformer"),
        model="gpt",
    ),
    trap(
        "epsilon_of_bert",
        "forward",
        (ATTENTION, ATTENTION.replace("LayerNorm", "Bert")),
        (
            "def configure(",
            """class Bert(LayerNorm):
    def forward(self, x, training):
        weight, bias = self.parameters
        centred = x - x.mean(-1, keepdims=True)
        self.scale = 1 / xp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        self.normal = centred * self.scale
        return self.normal * weight + bias


def configure(""",
        ),
        model="gpt",
    ),
    trap(
        "normalised_after_the_sum",
        "forward",
        (ATTENTION, 'Residual(settings, [attention]), LayerNorm(settings, block + "norm1")'),
        (MLP, 'Residual(settings, mlp), LayerNorm(settings, block + "norm2")'),
        model="gpt",
    ),
    trap(
        "shortcut_after_the_normalisation",
        "forward",
        (ATTENTION, 'LayerNorm(settings, block + "norm1"), Residual(settings, [attention])'),
        (MLP, 'LayerNorm(settings, block + "norm2"), Residual(settings, mlp)'),
        model="gpt",
    ),
    trap(
        "last_normalisation_forgotten",
        "forward",
        (LAST, LAST.replace("LayerNorm", "Forgotten")),
        (
            "def configure(",
            """class Forgotten(LayerNorm):
    def forward(self, x, training):
        return x

    def backward(self, g):
        return g


def configure(""",
        ),
        model="gpt",
    ),
    trap(
        "embedding_scaled_but_not_the_head",
        "forward",
        ('Embedding(settings, "tokens", tied=True)', 'Larger(settings, "tokens", tied=True)'),
        (
            "def configure(",
            """class Larger(Embedding):
    def forward(self, tokens, training):
        return super().forward(tokens, training) * np.float32(self.parameters[0].shape[1] ** 0.5)

    def backward(self, g):
        super().backward(g * np.float32(self.parameters[0].shape[1] ** 0.5))


def configure(""",
        ),
        model="gpt",
    ),
    trap(
        "positions_not_offset_by_the_cache",
        "generation",
        ("[first : first + x.shape[1]]", "[: x.shape[1]]", "transformer"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_head_lost",
        "gradient",
        ('"tokens", tied=True', '"tokens"'),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("xp.add.at(weight, self.tokens, g)", "pass", "transformer"),
        model="gpt",
    ),
    trap(
        "head_not_tied",
        "gradient",
        (
            'tokens = Embedding(settings, "tokens", tied=True)',
            'tokens = Embedding(settings, "tokens")',
        ),
        ("TiedHead(settings, tokens)", 'Dense(settings, "head", bias=False)'),
        (
            "put(network, weights)",
            'put(network, dict(weights, **{"head.weight": weights["tokens.weight"]}))',
        ),
        (
            "def score(",
            """def weights(model):
    copies = cnn.weights(model)
    copies.pop("head.weight")
    return copies


def score(""",
        ),
        ("from frameworks.numpy import mlp", "from frameworks.numpy import cnn, mlp"),
        model="gpt",
    ),
    trap(
        "tied_weight_clipped_twice",
        "momentum",
        (
            "(g**2).sum() for g in self.gradients",
            "(g**2).sum() for g in self.gradients + self.gradients[:1]",
            "optimizers",
        ),
        model="gpt",
    ),
]

ANGLES = "angles = np.multiply.outer(places, frequencies.astype(self.dtype))"
GATED = "self.hidden = self.gate * self.open * self.up"

TRAPS += [
    trap(
        "normalised_in_bfloat16",
        "forward",
        ("self.normal * weight + bias", "bfloat16(self.normal) * weight + bias", "transformer"),
        BFLOAT16,
        model="gpt",
    ),
    trap(
        "normalised_in_bfloat16",
        "forward",
        (
            "self.normal * self.parameters[0]",
            "bfloat16(self.normal) * self.parameters[0]",
            "transformer",
        ),
        BFLOAT16,
        model="llama",
    ),
    trap(
        "places_scaled",
        "forward",
        ("places = np.arange(first,", "places = 0.25 * np.arange(first,", "transformer"),
        model="llama",
    ),
    trap(
        "epsilon_of_float32",
        "forward",
        ("EPSILON = 1e-5", "EPSILON = np.finfo(np.float32).eps", "transformer"),
        model="llama",
    ),
    trap("base_of_llama_3", "forward", ("10000", "500000", "transformer"), model="llama"),
    trap(
        "rotated_backwards",
        "forward",
        ("xp.asarray(np.sin(angles))", "xp.asarray(-np.sin(angles))", "transformer"),
        model="llama",
    ),
    trap(
        "sines_and_cosines_exchanged",
        "forward",
        (
            "xp.asarray(np.cos(angles)), xp.asarray(np.sin(angles))",
            "xp.asarray(np.sin(angles)), xp.asarray(np.cos(angles))",
            "transformer",
        ),
        model="llama",
    ),
    trap(
        "angles_in_bfloat16",
        "forward",
        (ANGLES, ANGLES.replace("np.multiply", "bfloat16(np.multiply") + ")", "transformer"),
        BFLOAT16,
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        (
            "x.shape[-1], self.past.length",
            "x.shape[-1], 0",
            "transformer",
        ),
        model="llama",
    ),
    trap(
        "ignored_targets_counted",
        "gradient",
        ("number = int(counted.sum())", "number = targets.size", "transformer"),
        AGAIN,
        model="llama",
    ),
    trap(
        "gelu_for_silu",
        "forward",
        (
            "self.open = sigmoid(self.gate)",
            "self.tanh = xp.tanh(0.7978845608028654 * (self.gate + 0.044715 * self.gate**3))\n"
            "self.open = (1 + self.tanh) / 2",
            "transformer",
        ),
        (
            "by_gate = hidden * self.up * self.open * (1 + self.gate * (1 - self.open))",
            "slope = 0.7978845608028654 * (1 + 3 * 0.044715 * self.gate**2)\n"
            "slope = self.open + self.gate * (1 - self.tanh**2) * slope / 2\n"
            "by_gate = hidden * self.up * slope",
            "transformer",
        ),
        model="llama",
    ),
    trap(
        "gate_and_up_exchanged",
        "forward",
        ('"gate.weight", "up.weight"', '"up.weight", "gate.weight"', "transformer"),
        model="llama",
    ),
    trap(
        "layer_normalisation_for_rms",
        "forward",
        (
            "self.scale = 1 / xp.sqrt((x**2)",
            "x = x - x.mean(-1, keepdims=True)\nself.scale = 1 / xp.sqrt((x**2)",
            "transformer",
        ),
        (
            "return self.scale * (g - self.normal * (g * self.normal).mean(-1, keepdims=True))",
            "g = self.scale * (g - self.normal * (g * self.normal).mean(-1, keepdims=True))\n"
            "return g - g.mean(-1, keepdims=True)",
            "transformer",
        ),
        model="llama",
    ),
]

# The GRU.

STATE = "state = xp.concatenate([dr, dz, dn * r], 1)"

TRAPS += [
    trap(
        "reset_before_the_product",
        "forward",
        (
            "n = xp.tanh(xn + r * hn)",
            "units = h.shape[1]\n"
            "hn = xp.matmul(r * h, recurrent[2 * units :].T) + recurrent_bias[2 * units :]\n"
            "n = xp.tanh(xn + hn)",
            "layers",
        ),
        (
            "dr = dn * hn * r * (1 - r)",
            "units = h.shape[1]\n"
            "back = xp.matmul(dn, recurrent[2 * units :])\n"
            "dr = back * h * r * (1 - r)",
            "layers",
        ),
        (STATE, STATE.replace("dn * r", "dn"), "layers"),
        (
            "by_recurrent += xp.matmul(state.T, h)",
            "by_recurrent[: 2 * units] += xp.matmul(state[:, : 2 * units].T, h)\n"
            "by_recurrent[2 * units :] += xp.matmul(dn.T, r * h)",
            "layers",
        ),
        (
            "dh = dh * z + xp.matmul(state, recurrent)",
            "dh = dh * z + back * r + xp.matmul(state[:, : 2 * units], recurrent[: 2 * units])",
            "layers",
        ),
        model="gru",
    ),
    trap(
        "update_gate_first",
        "forward",
        ("xr, xz, xn = xp.split(from_input", "xz, xr, xn = xp.split(from_input", "layers"),
        ("hr, hz, hn = xp.split(from_state", "hz, hr, hn = xp.split(from_state", "layers"),
        (STATE, STATE.replace("dr, dz", "dz, dr"), "layers"),
        (
            "inputs.append(xp.concatenate([dr, dz, dn], 1))",
            "inputs.append(xp.concatenate([dz, dr, dn], 1))",
            "layers",
        ),
        model="gru",
    ),
    trap(
        "update_gate_reversed",
        "forward",
        (
            "sigmoid(xz + hz)",
            "1 - sigmoid(xz + hz)",
            "layers",
        ),
        ("dz = dh * (h - n) * z * (1 - z)", "dz = dh * (n - h) * z * (1 - z)", "layers"),
        model="gru",
    ),
    trap(
        "first_state_taken",
        "forward",
        ("return x[:, -1]", "return x[:, 0]", "layers"),
        ("dx[:, -1] = g", "dx[:, 0] = g", "layers"),
        model="gru",
    ),
    trap(
        "padding_index",
        "gradient",
        (
            "xp.add.at(weight, self.tokens, g)",
            "xp.add.at(weight, self.tokens, g)\nweight[0] = 0",
            "transformer",
        ),
        model="gru",
    ),
]

TRAPS += [
    trap("not_in_force", "forward", ("KEPT = 3", "KEPT = 16"), model="tf32"),
    trap("bfloat16", "forward", ("KEPT = 3", "KEPT = 0"), model="tf32"),
    trap(
        "one_layer_in_bfloat16",
        "forward",
        ("import BITS, Rounded", "import BITS, Rounded, rounded"),
        ("[cut(weight), *bias]", "[(rounded if self.name == 'conv3' else cut)(weight), *bias]"),
        model="tf32",
    ),
]
