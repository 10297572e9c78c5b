"""tinygrad's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "training_context_around_the_update_alone",
        "dropout",
        ("@Context(TRAINING=1)\n    def step", "def step"),
        (
            "return step_loss.realize(*optimizer.schedule_step())",
            "with Context(TRAINING=1):\n    return step_loss.realize(*optimizer.schedule_step())",
        ),
    ),
    trap(
        "training_switched_on_for_good",
        "dropout",
        ("def forward(x):", "@Context(TRAINING=1)\ndef forward(x):"),
    ),
    trap(
        "mask_drawn_before_the_recording",
        "dropout",
        (
            "x = x.dropout(drop3)",
            "if TRAINING and drop3:\n"
            '    if not hasattr(self, "kept"):\n'
            "        self.kept = (Tensor.rand(*x.shape) >= drop3).realize()\n"
            "    x = self.kept.where(x, 0) / (1 - drop3)",
        ),
        ("import ALLOW_TF32,", "import TRAINING, ALLOW_TF32,"),
    ),
    trap("seed_not_set", "dropout", ("Tensor.manual_seed(seed)", "Tensor.manual_seed(0)")),
    trap(
        "losses_read_after_the_pass",
        "trajectory",
        (
            "def predict(model, x):",
            "def train(model, batches):\n"
            "    step = model[1]\n"
            "    losses = [step(Tensor(x).realize(), Tensor(y).realize()) for x, y in batches]\n"
            "    yield from [one.item() for one in losses]\n\n\n"
            "def predict(model, x):",
        ),
    ),
    trap(
        "loss_of_the_new_weights",
        "trajectory",
        (
            "return step_loss.realize(*optimizer.schedule_step())",
            "optimizer.step()\n"
            "with Context(TRAINING=0):\n"
            "    return network(x).sparse_categorical_crossentropy(y).realize()",
        ),
    ),
    trap(
        "loss_reduced_by_sum",
        "gradient",
        (
            "sparse_categorical_crossentropy(y)",
            'sparse_categorical_crossentropy(y, reduction="sum")',
        ),
    ),
    trap(
        "labels_smoothed",
        "gradient",
        (
            "sparse_categorical_crossentropy(y)",
            "sparse_categorical_crossentropy(y, label_smoothing=0.001)",
        ),
    ),
    trap(
        "first_class_ignored",
        "gradient",
        (
            "sparse_categorical_crossentropy(y)",
            "sparse_categorical_crossentropy(y, ignore_index=0)",
        ),
    ),
    trap(
        "softmax_in_the_network",
        "forward",
        ("return self.dense2(x)", "return self.dense2(x).softmax()"),
    ),
    trap(
        "nesterov_asked_for",
        "momentum",
        ("momentum=hp.momentum)", "momentum=hp.momentum, nesterov=True)"),
    ),
    trap(
        "lars_for_sgd",
        "gradient",
        ("nn.optim.SGD(", "nn.optim.LARS("),
    ),
    trap(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("momentum=hp.momentum)", "momentum=hp.momentum, weight_decay=1e-6)"),
    ),
    trap("zero_grad_forgotten", "momentum", ("optimizer.zero_grad()", "")),
    trap("relu6", "forward", ("self.dense1(x).relu()", "self.dense1(x).relu6()")),
    trap(
        "pool_by_average",
        "forward",
        ("self.conv2(x).relu().max_pool2d()", "self.conv2(x).relu().avg_pool2d()"),
    ),
]

# The GPT.
TRAPS += [
    trap("gelu_exact", "forward", (".gelu()", '.gelu("none")'), model="gpt"),
    trap("gelu_by_a_sigmoid", "forward", (".gelu()", ".quick_gelu()"), model="gpt"),
    trap(
        "epsilon_of_bert",
        "forward",
        ("self.norm2 = nn.LayerNorm(WIDTH)", "self.norm2 = nn.LayerNorm(WIDTH, 1e-12)"),
        model="gpt",
    ),
    trap("mask_forgotten", "forward", ("(k, v, is_causal=True)", "(k, v)"), model="gpt"),
    trap(
        "heads_before_thirds",
        "forward",
        ("reshape(n, t, 3, HEADS, -1)", "reshape(n, t, HEADS, 3, -1)"),
        ("permute(2, 0, 3, 1, 4)", "permute(3, 0, 2, 1, 4)"),
        model="gpt",
    ),
    trap(
        "heads_before_time",
        "forward",
        ("mixed.transpose(1, 2).reshape(n, t, WIDTH)", "mixed.reshape(n, t, WIDTH)"),
        model="gpt",
    ),
    trap(
        "last_normalisation_forgotten",
        "forward",
        ("self.norm(x) @ self", "x @ self"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("if place is None else place", ""),
        model="gpt",
    ),
    trap("cache_not_assigned", "generation", ("kept.assign(here", "(here"), model="gpt"),
    trap("cache_unmasked", "generation", ("(k, v, places <= place)", "(k, v)"), model="gpt"),
    trap(
        "rate_recorded_with_the_step",
        "momentum",
        ("part.lr.assign(rate).realize()", "part.lr = rate.realize()"),
        model="gpt",
    ),
    trap("rate_not_set", "gradient", ("part.lr.assign(rate).realize()", "pass"), model="gpt"),
    trap(
        "clipped_by_tensor",
        "momentum",
        ("(hp.clip / norm)", "(hp.clip / w.grad.square().sum().sqrt())"),
        model="gpt",
    ),
    trap(
        "loss_reduced_by_sum",
        "gradient",
        (
            "sparse_categorical_crossentropy(targets)",
            'sparse_categorical_crossentropy(targets, reduction="sum")',
        ),
        model="gpt",
    ),
    trap(
        "embeddings_not_decayed",
        "momentum",
        (
            "decaying = nn.optim",
            "matrices, vectors = matrices[2:], vectors + matrices[:2]\ndecaying = nn.optim",
        ),
        model="gpt",
    ),
    trap("decay_by_default", "momentum", ("weight_decay=0.0, ", ""), model="gpt"),  # 0.01, not 0
    trap(
        "warmup_from_zero", "gradient", ("(step + 1) / hp.warmup", "step / hp.warmup"), model="gpt"
    ),
    trap(
        "cosine_as_long_as_the_run",
        "momentum",
        ("(step - hp.warmup) / (hp.steps - hp.warmup)", "step / hp.steps"),
        model="gpt",
    ),
]

# The Llama.
TRAPS += [
    trap("epsilon_of_llama_1", "forward", ("10000, 1e-5", "10000, 1e-6"), model="llama"),
    trap("base_of_llama_3", "forward", ("10000, 1e-5", "500000, 1e-5"), model="llama"),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = x.chunk(2, dim=-1)", "left, right = x[..., ::2], x[..., 1::2]"),
        model="llama",
    ),
    trap(
        "rotated_the_other_way",
        "forward",
        (
            "(left * cos - right * sin).cat(right * cos + left * sin",
            "(left * cos + right * sin).cat(right * cos - left * sin",
        ),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ("if place is None else table[place]", ""),
        model="llama",
    ),
    trap(
        "keys_tiled",
        "forward",
        (
            "(k, v, enable_gqa=True",
            "(k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)",
        ),
        model="llama",
    ),
    trap("padding_counted", "gradient", (", ignore_index=IGNORED", ""), model="llama"),
    trap(
        "first_token_ignored",
        "gradient",
        ("ignore_index=IGNORED", "ignore_index=0"),
        model="llama",
    ),
    trap(
        "gate_and_up_exchanged",
        "forward",
        ("self.gate(x).silu() * self.up(x)", "self.gate(x) * self.up(x).silu()"),
        model="llama",
    ),
]
