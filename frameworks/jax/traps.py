"""JAX's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "one_dropout_key_for_all_steps",
        "dropout",
        ('key, batch_key = jax.random.split(state["key"])', 'key = batch_key = state["key"]'),
    ),
    trap(
        "one_dropout_key_for_all_layers",
        "dropout",
        ("else jax.random.split(key, 3)", "else (key,) * 3"),
    ),
    trap(
        "mask_drawn_while_the_step_is_traced",
        "dropout",
        (
            "jax.random.bernoulli(key, 1 - fraction, x.shape)",
            "np.random.RandomState(0).uniform(size=x.shape) > fraction",
        ),
    ),
    trap(
        "fraction_taken_for_the_kept_one",
        "dropout",
        (
            "jax.random.bernoulli(key, 1 - fraction, x.shape)",
            "jax.random.bernoulli(key, fraction, x.shape)",
        ),
    ),
    trap(
        "ties_shared_without_saying_so",
        "gradient",
        (
            'return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")',
            "n, c, h, w = x.shape\nreturn x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))",
        ),
    ),
    trap(
        "windows_overlap",
        "forward",
        ('window, window, "VALID")', 'window, (1, 1, 1, 1), "VALID")'),
        raises=True,
    ),
    trap(
        "products_of_bfloat16",
        "forward",
        (
            'x @ layer["weight"].T + layer["bias"]',
            "jnp.matmul(\n"
            "    x.astype(jnp.bfloat16),\n"
            '    layer["weight"].T.astype(jnp.bfloat16),\n'
            "    preferred_element_type=jnp.float32,\n"
            ') + layer["bias"]',
        ),
    ),
    trap(
        "labels_counted_from_one_and_clamped",
        "gradient",
        (
            "jnp.take_along_axis(log_probabilities, labels[:, None], 1)",
            "log_probabilities[jnp.arange(len(labels)), labels + 1]",
        ),
    ),
    trap(
        "mean_over_the_classes_too",
        "gradient",
        (
            "jnp.take_along_axis(log_probabilities, labels[:, None], 1)",
            "(jax.nn.one_hot(labels, 10) * log_probabilities)",
        ),
    ),
    trap(
        "nesterov",
        "momentum",
        (
            "lambda w, v: w - hp.learning_rate * v, state",
            "lambda w, v, g: w - hp.learning_rate * (hp.momentum * v + g), state",
        ),
        ('state["params"], velocity)', 'state["params"], velocity, gradients)'),
    ),
    trap(
        "momentum_as_an_average",
        "momentum",
        ("hp.momentum * v + g,", "hp.momentum * v + (1 - hp.momentum) * g,"),
    ),
    trap(
        "new_velocity_not_returned",
        "momentum",
        ('"velocity": velocity, "key": key}', '"velocity": state["velocity"], "key": key}'),
    ),
    trap(
        "state_made_again_in_each_pass",
        "momentum",
        (
            "for x, y in batches:",
            'params = model["state"]["params"]\n'
            'model["state"]["velocity"] = jax.tree.map(jnp.zeros_like, params)\n'
            "for x, y in batches:",
        ),
    ),
    trap(
        "donated_state_used_again",
        "gradient",
        ('model["state"], step_loss =', "_, step_loss ="),
        raises=True,
    ),
    trap(
        "weights_compiled_in_as_constants",
        "accuracy",
        ("params = tree(weights)", "first = tree(weights)\nparams = tree(weights)"),
        ("jax.jit(network)", "jax.jit(lambda params, x: network(first, x))"),
    ),
]

TRAPS += [
    trap(
        "epsilon_in_the_root",
        "gradient",
        ("(jnp.sqrt(v / c2) + hp.epsilon)", "jnp.sqrt(v / c2 + hp.epsilon)"),
        model="mlp",
    ),
    trap(
        "step_counted_from_two",
        "gradient",
        ('"t": jnp.array(0)', '"t": jnp.array(1)'),
        model="mlp",
    ),
    trap(
        "step_number_not_returned",
        "momentum",
        ('"v": v, "t": t}', '"v": v, "t": t - 1}'),
        model="mlp",
    ),
    trap(
        "hard_sigmoid",
        "forward",
        ("jax.nn.sigmoid(conv(", "jax.nn.hard_sigmoid(conv("),
        model="lenet5",
    ),
    trap(
        "gradient_not_truncated", "gradient", ("state = lax.stop_gradient(state)", ""), model="lstm"
    ),
    trap("state_not_carried", "gradient", ("CHUNK], state)", "CHUNK], zeros(x))"), model="lstm"),
    trap(
        "cell_taken_for_the_output",
        "forward",
        (
            "h = jax.nn.sigmoid(o) * jnp.tanh(c)",
            "h = jax.nn.sigmoid(o) * jnp.tanh(c)\nreturn (h, c), c",
        ),
        model="lstm",
    ),
    trap(
        "padding_by_name",
        "forward",
        ("[(half, half)] * 2", '"SAME"'),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        ("jax.jit(network)", "jax.jit(partial(network, training=True))"),
        model="resnet",
    ),
    trap(
        "running_statistics_not_returned",
        "gradient",
        (
            '"running": running, "velocity": velocity}, step_loss',
            '"running": state["running"], "velocity": velocity}, step_loss',
        ),
        model="resnet",
    ),
    trap(
        "all_parameters_decay",
        "momentum",
        ("hp.weight_decay if w.ndim > 1 else 0", "hp.weight_decay"),
        model="resnet",
    ),
]
