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
