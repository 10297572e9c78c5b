"""CNTK's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap("unit_gain_by_default", "momentum", ("unit_gain=False,", "")),
    trap("nesterov_learner", "momentum", ("C.momentum_sgd(", "C.nesterov(")),
    trap(
        "momentum_for_a_batch_of_64",
        "momentum",
        ("momentum_schedule(hp.momentum)", "momentum_schedule(hp.momentum, minibatch_size=64)"),
    ),
    trap(
        "learning_rate_for_a_batch_of_64",
        "gradient",
        (
            "learning_parameter_schedule(hp.learning_rate)",
            "learning_parameter_schedule(hp.learning_rate, minibatch_size=64)",
        ),
    ),
    trap(
        "learning_rate_per_sample",
        "gradient",
        (
            "learning_parameter_schedule(hp.learning_rate)",
            "learning_parameter_schedule(hp.learning_rate, minibatch_size=1)",
        ),
    ),
    trap(
        "l2_regularization",
        "gradient",
        ("unit_gain=False,", "unit_gain=False, l2_regularization_weight=1e-6,"),
    ),
    trap(
        "gradient_clipping",
        "gradient",
        ("unit_gain=False,", "unit_gain=False, gradient_clipping_threshold_per_sample=5,"),
    ),
    trap(
        "softmax_twice",
        "gradient",
        (
            "cross_entropy_with_softmax(network, y)",
            "cross_entropy_with_softmax(C.softmax(network), y)",
        ),
    ),
    trap(
        "log_of_softmax",
        "gradient",
        (
            "C.cross_entropy_with_softmax(network, y)",
            "-C.reduce_sum(y * C.log(C.softmax(network)))",
        ),
    ),
    trap(
        "relu_with_a_ceiling",
        "forward",
        ("Dense(512, activation=C.relu", "Dense(512, activation=lambda h: C.clip(h, 0.0, 6.0)"),
    ),
    trap("transpose_forgotten", "weights", ("else weights[name].T", "else weights[name]")),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        ("seed=seed + 1", "seed=seed"),
        ("seed=seed + 2", "seed=seed"),
    ),
    trap("seed_unsaid", "dropout", ("Dropout(drop1, seed=seed)", "Dropout(drop1)")),
]

TRAPS += [
    trap(
        "gradient_summed_over_the_batch",
        "gradient",
        ("minibatch_size=C.learners.IGNORE,", ""),
        model="mlp",
    ),
    trap(
        "unit_gain_switched_off", "momentum", ("unit_gain=True,", "unit_gain=False,"), model="mlp"
    ),
    trap(
        "variance_momentum_by_default",
        "gradient",
        ("variance_momentum=C.momentum_schedule(hp.beta2),", ""),
        model="mlp",
    ),
    trap(
        "adamax",
        "gradient",
        ("epsilon=hp.epsilon,", "epsilon=hp.epsilon, adamax=True,"),
        model="mlp",
    ),
    trap(
        "tanh_for_sigmoid",
        "forward",
        ("Dense(84, activation=C.sigmoid", "Dense(84, activation=C.tanh"),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("C.stop_gradient(h)", "h"),
        ("C.stop_gradient(c)", "c"),
        model="lstm",
    ),
    trap(
        "gates_in_the_shared_order",
        "forward",
        ("GATES = [0, 2, 1, 3]", "GATES = [0, 1, 2, 3]"),
        model="lstm",
    ),
    trap(
        "squared_error_halved",
        "gradient",
        ("C.reduce_mean(C.square(ahead - y))", "C.reduce_mean(C.square(ahead - y)) / 2"),
        model="lstm",
    ),
    # Each batch continues the previous batch's sequences.
    trap(
        "state_kept_between_sequences",
        "gradient",
        (
            'x = C.input_variable((STEPS, 1), name="x")',
            'x = C.sequence.input_variable((STEPS, 1), name="x")',
        ),
        (
            'y = C.input_variable((STEPS, 1), name="y")',
            'y = C.sequence.input_variable((STEPS, 1), name="y")',
        ),
        (
            "h = c = C.constant(0, 5)",
            "last = C.placeholder(5), C.placeholder(5)\n"
            "h, c = [C.sequence.past_value(part) for part in last]",
        ),
        (
            "ahead = C.reshape(C.splice(*values, axis=0), (STEPS, 1))",
            "ahead = C.reshape(C.splice(*values, axis=0), (STEPS, 1))\n"
            "ahead.replace_placeholders(dict(zip(last, (h, c))))",
        ),
        (
            "trainer.train_minibatch({x_variable: x, y_variable: y})",
            "starts = len(x) * [not trainer.total_number_of_samples_seen]\n"
            "both = {x_variable: list(x[:, None]), y_variable: list(y[:, None])}\n"
            "trainer.train_minibatch(\n"
            "    {to: C.Value.create(to, part, starts) for to, part in both.items()}\n"
            ")",
        ),
        (
            "values.eval({values.arguments[0]: x})",
            "np.concatenate(values.eval({values.arguments[0]: x[:, None]}))",
        ),
        model="lstm",
    ),
]

# The workers.
TRAPS += [
    trap(
        "gradients_not_averaged",
        "gradient",
        ("learner = distributed.data_parallel_distributed_learner(learner)", ""),
        model="workers",
    ),
    trap(
        "masks_alike",
        "dropout",
        ('settings["seed"] + 2**16 * rank', 'settings["seed"]'),
        model="workers",
    ),
]
