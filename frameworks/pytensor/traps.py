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
        ('seed=settings["seed"], name="random"', 'np.random.default_rng(), name="random"'),
    ),
    trap(
        "float64_in_disguise",
        "trajectory",
        ('np.zeros(dims, "float32")', 'np.zeros(dims, "float64")'),
        ("w.set_value(weights[name])", "w.set_value(np.float64(weights[name]))"),
        ("np.zeros_like(weights[name])", "np.zeros(weights[name].shape)"),
        ("predict_step(x[i : i + 64])", 'predict_step(x[i : i + 64]).astype("float32")'),
        ("shared.get_value() for", 'shared.get_value().astype("float32") for'),
        raises=True,  # its convolution states the types of what it takes
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

# The GPT.
TRAPS += [
    trap("epsilon_of_bert", "forward", ("+ 1e-5)", "+ 1e-12)"), model="gpt"),
    trap(
        "variance_by_one_less",
        "forward",
        ("(x**2).mean(-1, keepdims=True)", "(x**2).sum(-1, keepdims=True) / (WIDTH - 1)"),
        model="gpt",
    ),
    trap(
        "gelu_by_a_sigmoid",
        "forward",
        (
            "0.5 * x * (1 + pt.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
            "x * pt.sigmoid(1.702 * x)",
        ),
        model="gpt",
    ),
    trap(
        "mask_one_place_late", "forward", ("places <= places", "places <= 1 + places"), model="gpt"
    ),
    trap(
        "mask_of_the_first_places",
        "generation",
        ("places <= places[-t:", "places <= places[:t"),
        model="gpt",
    ),
    trap(
        "heads_before_thirds",
        "forward",
        ("(n, t, 3, HEADS, WIDTH // HEADS)", "(n, t, HEADS, 3, WIDTH // HEADS)"),
        ("(2, 0, 3, 1, 4)", "(3, 0, 2, 1, 4)"),
        model="gpt",
    ),
    trap(
        "heads_before_time",
        "forward",
        ("(shares @ v).transpose(0, 2, 1, 3).reshape(x.shape)", "(shares @ v).reshape(x.shape)"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("[first : first + tokens.shape[1]]", "[: tokens.shape[1]]"),
        model="gpt",
    ),
    trap(
        "only_the_new_keys_kept",
        "generation",
        ('"attention.out"), kv', '"attention.out"), qkv[1:]'),
        model="gpt",
    ),
    trap("blocks_backwards", "forward", ("[x, None]", "[x, None], go_backwards=True"), model="gpt"),
    trap(
        "head_not_in_the_graph",
        "gradient",
        ('@ w["tokens.weight"].T', '@ pytensor.gradient.disconnected_grad(w["tokens.weight"]).T'),
        model="gpt",
    ),
    trap("last_steps_moments", "gradient", ("change = new_m", "change = m"), model="gpt"),
    trap(
        "warmup_from_zero", "gradient", ("(step + 1) / hp.warmup", "step / hp.warmup"), model="gpt"
    ),
    trap(
        "cosine_as_long_as_the_run",
        "momentum",
        ("(step - hp.warmup) / (hp.steps - hp.warmup)", "step / hp.steps"),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        ("pt.minimum(1, hp.clip / pt.sqrt((g**2).sum())) * g", "pt.clip(g, -hp.clip, hp.clip)"),
        model="gpt",
    ),
    trap("all_parameters_decayed", "momentum", ("if w.ndim > 1 else 0", ""), model="gpt"),
    trap(
        "decay_not_times_the_rate",
        "momentum",
        ("+ decay * theta", ""),
        ("* change", "* change - decay * theta"),
        model="gpt",
    ),
    trap("softmax_of_all_scores", "forward", (", axis=-1", ""), model="gpt"),
]

# The GRU.
TRAPS += [
    trap(
        "update_before_reset",
        "forward",
        ("h_r, h_z, h_n =", "h_z, h_r, h_n ="),
        ("x_r, x_z, x_n =", "x_z, x_r, x_n ="),
        model="gru",
    ),
    trap(
        "reset_before_the_product",
        "forward",
        ("reset * h_n", 'dense(reset * h, shared, "gru.recurrent")[:, 2 * UNITS :]'),
        model="gru",
    ),
    trap(
        "state_kept_the_other_way",
        "forward",
        ("(1 - update) * new + update * h", "update * new + (1 - update) * h"),
        model="gru",
    ),
    trap("mean_of_the_states", "forward", ("dense(h[-1]", "dense(h.mean(0)"), model="gru"),
    trap("words_backwards", "forward", ("scan(cell, x", "scan(cell, x[::-1]"), model="gru"),
    trap(
        "gradient_of_the_last_word",
        "gradient",
        ("scan(cell, x, start", "scan(cell, x, start, truncate_gradient=1"),
        model="gru",
    ),
]
