"""Theano's own traps, written as changes to its module."""

from common.mistakes.mistake import changed

MISTAKES = [
    changed("filter_flip_by_default", "forward", (", filter_flip=False)", ")")),
    changed(
        "relu_with_half_a_gradient_at_0",
        "gradient",
        ("return T.maximum(0, h)", "return T.nnet.relu(h)"),
    ),
    changed(
        "ties_shared_unsaid",
        "gradient",
        (
            "return T.maximum(T.maximum(a, b), T.maximum(c, d))",
            "from theano.tensor.signal.pool import pool_2d\n\n"
            "    return pool_2d(h, (2, 2), ignore_border=True)",
        ),
    ),
    changed("last_steps_velocity", "gradient", ("(w, w + new_v)", "(w, w + v)")),
    changed("updates_not_handed_over", "gradient", ("cost, updates=updates, mode", "cost, mode")),
    changed("cost_summed", "gradient", (", y).mean()", ", y).sum()")),
    changed(
        "probabilities_clipped",
        "gradient",
        ("softmax(train_scores)", "T.clip(softmax(train_scores), 1e-7, 1 - 1e-7)"),
    ),
    changed(
        "weights_are_views",
        "gradient",
        ("shared.get_value() for", "shared.get_value(borrow=True) for"),
    ),
    changed(
        "nesterov_written_out",
        "momentum",
        ("(w, w + new_v)", "(w, w + hp.momentum * new_v - hp.learning_rate * g)"),
    ),
    changed(
        "velocity_of_a_mean",
        "momentum",
        ("- hp.learning_rate * g", "- (1 - hp.momentum) * hp.learning_rate * g"),
    ),
    changed("binomial_keeps_the_rate", "dropout", ("p=1 - rate,", "p=rate,")),
    changed("dropout_not_scaled", "dropout", ('dtype="float32") / (1 - rate)', 'dtype="float32")')),
    changed(
        "streams_seeded_alike",
        "dropout",
        ("h * random.binomial(", "h * MRG_RandomStreams(int(seed)).binomial("),
    ),
    changed("dropout_in_prediction", "dropout", ("if not training or rate == 0:", "if rate == 0:")),
    changed(
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

MISTAKES += [
    changed(
        "epsilon_inside_the_root_in_source",
        "gradient",
        ("(T.sqrt(new_v / correction2) + hp.epsilon)", "T.sqrt(new_v / correction2 + hp.epsilon)"),
        model="mlp",
    ),
    changed(
        "last_steps_moments",
        "gradient",
        ("(new_m / correction1)", "(m / correction1)"),
        model="mlp",
    ),
    changed("filter_flip_by_default", "forward", (", filter_flip=False)", ")"), model="lenet5"),
    changed(
        "ultra_fast_sigmoid",
        "forward",
        ("import conv2d, sigmoid", "import conv2d, ultra_fast_sigmoid as sigmoid"),
        model="lenet5",
        raises=True,  # it has no gradient: only Theano's optimiser may put it in, behind one
    ),
    changed(
        "hard_sigmoid",
        "forward",
        ("import conv2d, sigmoid", "import conv2d, hard_sigmoid as sigmoid"),
        model="lenet5",
    ),
]

MISTAKES += [
    changed(
        "gradient_not_truncated",
        "gradient",
        ("T.switch(starts, disconnected_grad(part), part)", "T.switch(starts, part, part)"),
        model="lstm",
    ),
    changed(
        "scan_truncates",
        "gradient",
        (
            "theano.scan(follow, sequences, [zeros, zeros])",
            "theano.scan(follow, sequences, [zeros, zeros], truncate_gradient=CHUNK)",
        ),
        model="lstm",
    ),
    changed(
        "ultra_fast_sigmoid",
        "forward",
        ("T.nnet.sigmoid(f) * c", "T.nnet.ultra_fast_sigmoid(f) * c"),
        model="lstm",
        raises=True,
    ),
    changed(
        "state_kept_between_sequences",
        "gradient",
        (
            "    values = [ahead, T.concatenate([ahead, free])]\n",
            '    start = np.zeros((hp.batch_size, 5), "float32")\n'
            "    kept = [theano.shared(start) for _ in range(2)]\n"
            "    states, _ = theano.scan(follow, sequences, kept)\n"
            "    for part, state in zip(kept, states):\n"
            "        part.default_update = state[-1]\n"
            '    values = [dense(states[0], shared, "dense2"), T.concatenate([ahead, free])]\n',
        ),
        model="lstm",
    ),
]
