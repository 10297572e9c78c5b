"""PyTensor's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "kernels_turned_as_in_signal",
        "forward",
        ("weight.transpose(2, 3, 1, 0)", "weight[:, :, ::-1, ::-1].transpose(2, 3, 1, 0)"),
    ),
    trap(
        "frame_not_blanked",
        "forward",
        ("start=width + 1) * inside", "start=width + 1) * (1 + 0 * inside)"),
    ),
    trap(
        "relu_with_a_whole_gradient_at_0",
        "gradient",
        ("return pt.maximum(0, h)", "return pt.maximum(h, 0)"),
    ),
    trap(
        "ties_of_a_maximum_along_an_axis",
        "gradient",
        (
            "return pt.maximum(pt.maximum(a, b), pt.maximum(c, d))",
            "return pt.stack([a, b, c, d]).max(0)",
        ),
    ),
    trap(
        "softmax_of_all_scores_at_once",
        "gradient",
        ("pt.special.log_softmax(scores, axis=1)", "pt.special.log_softmax(scores)"),
    ),
    trap(
        "logarithm_of_a_softmax_rounded",
        "gradient",
        (
            "pt.special.log_softmax(scores, axis=1)",
            "pt.log(pt.clip(pt.special.softmax(scores, axis=1), 1e-7, 1))",
        ),
    ),
    trap("cost_summed", "gradient", ("y].mean()", "y].sum()")),
    trap(
        "mean_over_all_scores",
        "gradient",
        (
            "-logarithms[pt.arange(y.shape[0]), y].mean()",
            "-pt.where(pt.eq(pt.arange(10), y[:, None]), logarithms, 0).mean()",
        ),
    ),
    trap(
        "last_steps_velocity",  # an update's right side is made of old values, whatever its place
        "gradient",
        ("updates[w] = w + updates[v]", "updates[w] = w + v"),
    ),
    trap(
        "updates_not_handed_over",
        "gradient",
        ("updates={**updates, **random}", "updates=random"),
    ),
    trap(
        "weights_are_views",
        "gradient",
        ("shared.get_value() for", "shared.get_value(borrow=True) for"),
    ),
    trap(
        "nesterov_written_out",
        "momentum",
        (
            "updates[w] = w + updates[v]",
            "updates[w] = w + hp.momentum * updates[v] - hp.learning_rate * g",
        ),
    ),
    trap(
        "velocity_of_a_mean",
        "momentum",
        ("- hp.learning_rate * g", "- (1 - hp.momentum) * hp.learning_rate * g"),
    ),
    trap(
        "random_numbers_not_updated",
        "dropout",
        ("updates={**updates, **random}", "updates=updates"),
    ),
    trap(
        "generator_not_passed_on",
        "dropout",
        ("random, drawn = random.uniform(", "_, drawn = random.uniform("),
        (
            "last, training = scores(first)",
            "_, training = scores(first)\nlast, _ = first.uniform()",
        ),
    ),
    trap("rate_taken_for_keep", "dropout", ("drawn >= rate", "drawn < rate")),
    trap(
        "dropout_not_scaled",
        "dropout",
        ("* (drawn >= rate) / np.float32(1 - rate)", "* (drawn >= rate)"),
    ),
    trap(
        "seed_left_to_numpy",
        "dropout",
        ('pt.random.shared_rng(seed=settings["seed"], name="random")', "pt.random.shared_rng()"),
    ),
    trap(
        "float64_in_disguise",
        "trajectory",
        ('np.zeros(dims, "float32")', 'np.zeros(dims, "float64")'),
        ("w.set_value(weights[name])", "w.set_value(np.float64(weights[name]))"),
        ("np.zeros_like(weights[name])", "np.zeros(weights[name].shape)"),
        ("predict_step(x[i : i + 64])", 'predict_step(x[i : i + 64]).astype("float32")'),
        ("shared.get_value() for", 'shared.get_value().astype("float32") for'),
    ),
]

TRAPS += [
    trap(
        "epsilon_inside_the_root",
        "gradient",
        (
            "pt.sqrt(updates[v] / correction2) + hp.epsilon",
            "pt.sqrt(updates[v] / correction2 + hp.epsilon)",
        ),
        model="mlp",
    ),
    trap(
        "last_steps_moments",
        "gradient",
        ("(updates[m] / correction1)", "(m / correction1)"),
        model="mlp",
    ),
    trap(
        "kernels_turned_as_in_signal",
        "forward",
        (
            "weight.transpose(2, 3, 1, 0)",
            "weight[:, :, ::-1, ::-1].transpose(2, 3, 1, 0)",
            "cnn",
        ),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("pt.switch(starts, disconnected_grad(part), part)", "pt.switch(starts, part, part)"),
        model="lstm",
    ),
    trap(
        "scan_truncates",
        "gradient",
        (
            "follow, sequences, [zeros, zeros],",
            "follow, sequences, [zeros, zeros], truncate_gradient=CHUNK,",
        ),
        model="lstm",
    ),
]
