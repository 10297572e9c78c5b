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
        "dropout",  # equal pixels have equal inputs, so that no weight shows which one it was
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
        "gradient",  # in prediction XLA drops the rounding (xla_allow_excess_precision)
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

# The GPT.
TRAPS += [
    trap(
        "gelu_exact",
        "forward",
        ('params[name + ".up"])), params', 'params[name + ".up"]), approximate=False), params'),
        model="gpt",
    ),
    trap("epsilon_of_other_layers", "forward", ("variance + 1e-5", "variance + 1e-6"), model="gpt"),
    trap("unbiased_variance", "forward", ("x.var(-1,", "x.var(-1, ddof=1,"), model="gpt"),
    trap("mask_forgotten", "forward", (", is_causal=True", ""), model="gpt"),
    trap(
        "heads_before_time",
        "forward",
        ("mixed.reshape(n, t, WIDTH)", "mixed.swapaxes(1, 2).reshape(n, t, WIDTH)"),
        model="gpt",
    ),
    trap(
        "heads_before_thirds",
        "forward",
        ("reshape(n, t, 3, HEADS, -1)", "reshape(n, t, HEADS, 3, -1)"),
        ("jnp.unstack(qkv, axis=2)", "jnp.unstack(qkv, axis=3)"),
        model="gpt",
    ),
    trap(
        "position_clamped_at_the_last",
        "generation",
        ("params, token, caches, place)", "params, token, caches, place + half)"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        (
            "lax.dynamic_slice_in_dim(positions, first, tokens.shape[1])",
            "positions[: tokens.shape[1]]",
        ),
        model="gpt",
    ),
    trap(
        "empty_places_seen",
        "generation",
        ("jnp.arange(k.shape[1]) <= first", "jnp.arange(k.shape[1]) >= 0"),
        model="gpt",
    ),
    trap(
        "mask_upside_down",
        "generation",
        ("jnp.arange(k.shape[1]) <= first", "jnp.arange(k.shape[1]) > first"),
        model="gpt",
    ),
    trap(
        "cache_not_carried",
        "generation",
        ("scores, caches = forward(params, token", "scores, _ = forward(params, token"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        (
            'params["tokens"]["weight"][tokens] +',
            'lax.stop_gradient(params["tokens"]["weight"])[tokens] +',
        ),
        model="gpt",
    ),
    trap(
        "clipped_leaf_by_leaf",
        "momentum",
        ("factor = jnp.minimum(1, largest / norm)", ""),
        (
            "lambda g: factor * g, gradients)",
            "lambda g: g * jnp.minimum(1, largest / jnp.linalg.norm(g)), gradients)",
        ),
        model="gpt",
    ),
    trap(
        "scaled_to_the_norm_always",
        "momentum",
        ("jnp.minimum(1, largest / norm)", "jnp.minimum(largest, 1e9) / (norm + 1e-6)"),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ("hp.weight_decay if w.ndim > 1 else 0", "hp.weight_decay"),
        model="gpt",
    ),
    trap(
        "decay_not_times_the_rate",
        "momentum",
        (
            "w - rate * (m / c1 / (jnp.sqrt(v / c2) + hp.epsilon) + decay * w)",
            "w - rate * (m / c1 / (jnp.sqrt(v / c2) + hp.epsilon)) - decay * w",
        ),
        model="gpt",
    ),
    trap(
        "rate_of_the_next_step",
        "momentum",
        ('rate_of(state["t"], hp), state["t"] + 1', 'rate_of(state["t"] + 1, hp), state["t"] + 1'),
        model="gpt",
    ),
    trap(
        "cosine_from_the_first_step",
        "momentum",
        ("(t - hp.warmup) / (hp.steps - hp.warmup)", "t / hp.steps"),
        model="gpt",
    ),
    trap(
        "schedule_by_a_python_if",
        "gradient",
        (
            "jnp.where(t < hp.warmup, hp.learning_rate * (t + 1) / hp.warmup, cosine)",
            "hp.learning_rate * (t + 1) / hp.warmup if t < hp.warmup else cosine",
        ),
        model="gpt",
        raises=True,
    ),
]

# The Llama.
TRAPS += [
    trap("epsilon_by_default", "forward", ("1e-5, -100", "1e-6, -100"), model="llama"),
    trap("base_of_llama_3", "forward", ("10000, 1e-5", "500000, 1e-5"), model="llama"),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = jnp.split(x, 2, -1)", "left, right = x[..., 0::2], x[..., 1::2]"),
        (
            "jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1)",
            "jnp.stack([left * cos - right * sin, right * cos + left * sin], -1).reshape(x.shape)",
        ),
        model="llama",
    ),
    trap(
        "angles_in_bfloat16",
        "forward",
        (
            "jnp.cos(angles), jnp.sin(angles)",
            "(f(jnp.bfloat16(angles)) for f in (jnp.cos, jnp.sin))",
        ),
        model="llama",
    ),
    trap(
        "rotated_by_the_head",
        "forward",
        ("_, t, _, d = x.shape", "_, _, t, d = x.shape"),
        (
            "jnp.outer(first + jnp.arange(t), frequencies)[:, None]",
            "jnp.outer(first + jnp.arange(t), frequencies)",
        ),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ("reshape(n, t, HEADS, -1), first)", "reshape(n, t, HEADS, -1), 0)"),
        ("reshape(n, t, KEY_HEADS, -1), first)", "reshape(n, t, KEY_HEADS, -1), 0)"),
        model="llama",
    ),
    trap(
        "keys_tiled",
        "forward",
        (
            "attend(q, k, v, cache, first)",
            "attend(q, jnp.tile(k, (1, 1, 2, 1)), jnp.tile(v, (1, 1, 2, 1)), cache, first)",
        ),
        model="llama",
    ),
    trap(
        "padding_in_the_mean",
        "gradient",
        (
            "losses.mean(where=targets != IGNORED)",
            "jnp.where(targets != IGNORED, losses, 0).mean()",
        ),
        model="llama",
    ),
    trap(
        "mean_of_the_sequences",
        "gradient",
        (
            "losses.mean(where=targets != IGNORED)",
            "losses.mean(1, where=targets != IGNORED).mean(where=(targets != IGNORED).any(1))",
        ),
        model="llama",
    ),
    trap("gelu_for_silu", "forward", ("jax.nn.silu", "jax.nn.gelu"), model="llama"),
]

# The GRU.
TRAPS += [
    trap(
        "reset_before_the_product",
        "forward",
        (
            "new = jnp.tanh(xn + reset * hn)",
            "hn = jnp.split(dense(reset * h, recurrent), 3, 1)[2]\nnew = jnp.tanh(xn + hn)",
        ),
        model="gru",
    ),
    trap(
        "update_taken_for_the_new_share",
        "forward",
        ("(1 - update) * new + update * h", "update * new + (1 - update) * h"),
        model="gru",
    ),
    trap("scanned_over_the_batch", "forward", (".swapaxes(0, 1)", ""), model="gru", raises=True),
    trap(
        "update_before_reset",
        "forward",
        ("xr, xz, xn =", "xz, xr, xn ="),
        ("hr, hz, hn =", "hz, hr, hn ="),
        model="gru",
    ),
    trap(
        "padding_does_not_move_the_state",
        "forward",
        (
            'params["words"]["weight"][words]',
            'params["words"]["weight"][words] * (words > 0)[..., None]',
        ),
        model="gru",
    ),
]
