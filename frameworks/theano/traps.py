"""Theano's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap("filter_flip_by_default", "forward", (", filter_flip=False)", ")")),
    trap(
        "relu_with_half_a_gradient_at_0",
        "gradient",
        ("return T.maximum(0, h)", "return T.nnet.relu(h)"),
    ),
    trap(
        "ties_shared_unsaid",
        "gradient",
        (
            "return T.maximum(T.maximum(a, b), T.maximum(c, d))",
            "from theano.tensor.signal.pool import pool_2d\n\n"
            "return pool_2d(h, (2, 2), ignore_border=True)",
        ),
    ),
    trap("last_steps_velocity", "gradient", ("(w, w + new_v)", "(w, w + v)")),
    trap("updates_not_handed_over", "gradient", ("cost, updates=updates, mode", "cost, mode")),
    trap("cost_summed", "gradient", (", y).mean()", ", y).sum()")),
    trap(
        "probabilities_clipped",
        "gradient",
        ("softmax(train_scores)", "T.clip(softmax(train_scores), 1e-7, 1 - 1e-7)"),
    ),
    trap(
        "weights_are_views",
        "gradient",
        ("shared.get_value() for", "shared.get_value(borrow=True) for"),
    ),
    trap(
        "nesterov_written_out",
        "momentum",
        ("(w, w + new_v)", "(w, w + hp.momentum * new_v - hp.learning_rate * g)"),
    ),
    trap(
        "velocity_of_a_mean",
        "momentum",
        ("- hp.learning_rate * g", "- (1 - hp.momentum) * hp.learning_rate * g"),
    ),
    trap("binomial_keeps_the_rate", "dropout", ("p=1 - rate,", "p=rate,")),
    trap("dropout_not_scaled", "dropout", ('dtype="float32") / (1 - rate)', 'dtype="float32")')),
    trap(
        "streams_seeded_alike",
        "dropout",
        ("h * random.binomial(", "h * MRG_RandomStreams(int(seed)).binomial("),
    ),
    trap("dropout_in_prediction", "dropout", ("if not training or rate == 0:", "if rate == 0:")),
    trap(
        "float64_in_disguise",
        "trajectory",
        ('np.zeros(shape, "float32")', 'np.zeros(shape, "float64")'),
        ('np.zeros(shape[0], "float32")', 'np.zeros(shape[0], "float64")'),
        ('x = T.tensor4("x")', 'x = T.dtensor4("x")'),
        ("w.set_value(weights[name])", "w.set_value(np.float64(weights[name]))"),
        ("np.zeros_like(weights[name])", "np.zeros(weights[name].shape)"),
        ("predict_step(x[i : i + 64])", 'predict_step(x[i : i + 64]).astype("float32")'),
        ("shared.get_value() for", 'shared.get_value().astype("float32") for'),
    ),
]

TRAPS += [
    trap(
        "epsilon_inside_the_root_in_source",
        "gradient",
        ("(T.sqrt(new_v / correction2) + hp.epsilon)", "T.sqrt(new_v / correction2 + hp.epsilon)"),
        model="mlp",
    ),
    trap(
        "last_steps_moments",
        "gradient",
        ("(new_m / correction1)", "(m / correction1)"),
        model="mlp",
    ),
    trap("filter_flip_by_default", "forward", (", filter_flip=False)", ")"), model="lenet5"),
    trap(
        "ultra_fast_sigmoid",
        "forward",
        ("conv2d, sigmoid", "conv2d, ultra_fast_sigmoid as sigmoid"),
        model="lenet5",
        raises=True,  # without a gradient; only Theano's optimiser may insert it, after taking one
    ),
    trap(
        "hard_sigmoid",
        "forward",
        ("conv2d, sigmoid", "conv2d, hard_sigmoid as sigmoid"),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("T.switch(starts, disconnected_grad(part), part)", "T.switch(starts, part, part)"),
        model="lstm",
    ),
    trap(
        "scan_truncates",
        "gradient",
        (
            "theano.scan(follow, sequences, [zeros, zeros])",
            "theano.scan(follow, sequences, [zeros, zeros], truncate_gradient=CHUNK)",
        ),
        model="lstm",
    ),
    trap(
        "ultra_fast_sigmoid",
        "forward",
        ("T.nnet.sigmoid(f) * c", "T.nnet.ultra_fast_sigmoid(f) * c"),
        model="lstm",
        raises=True,
    ),
    trap(
        "state_kept_between_sequences",
        "gradient",
        (
            "values = [ahead, T.concatenate([ahead, free])]",
            'start = np.zeros((hp.batch_size, 5), "float32")\n'
            "kept = [theano.shared(start) for _ in range(2)]\n"
            "states, _ = theano.scan(follow, sequences, kept)\n"
            "for part, state in zip(kept, states):\n"
            "    part.default_update = state[-1]\n"
            'values = [dense(states[0], shared, "dense2"), T.concatenate([ahead, free])]',
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
            "0.5 * x * (1 + T.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
            "x * T.nnet.sigmoid(1.702 * x)",
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
        ("mixed.dimshuffle(0, 2, 1, 3).reshape(x.shape)", "mixed.reshape(x.shape)"),
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
        ('w["tokens.weight"].T', 'theano.gradient.disconnected_grad(w["tokens.weight"]).T'),
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
        ("T.minimum(1, hp.clip / T.sqrt((g**2).sum())) * g", "T.clip(g, -hp.clip, hp.clip)"),
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
        (
            "T.zeros((words.shape[0], UNITS))",
            "T.zeros((words.shape[0], UNITS)), truncate_gradient=1",
        ),
        model="gru",
    ),
]
