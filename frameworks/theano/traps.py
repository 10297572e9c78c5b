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
        raises=True,  # it has no gradient: only Theano's optimiser may put it in, behind one
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
