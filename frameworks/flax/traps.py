"""Flax's and Optax's traps, as patches of the modules."""

from frameworks.variants import trap

TRAPS = [
    trap("eval_forgotten", "dropout", ("network.eval()", "network.train()")),
    trap("train_forgotten", "dropout", ("network.train()", "network.eval()")),
    trap(
        "layers_with_streams_of_their_own",
        "dropout",
        ("nnx.Dropout(drop1, rngs=rngs)", "nnx.Dropout(drop1, rngs=nnx.Rngs(0))"),
        ("nnx.Dropout(drop2, rngs=rngs)", "nnx.Dropout(drop2, rngs=nnx.Rngs(0))"),
        ("nnx.Dropout(drop3, rngs=rngs)", "nnx.Dropout(drop3, rngs=nnx.Rngs(0))"),
    ),
    trap(
        "reseeded_in_each_pass",
        "dropout",
        ("network.train()", "network.train()\nnnx.reseed(network, default=0, dropout=0)"),
    ),
    trap(
        "mask_shared_by_the_pixels",
        "dropout",
        (
            "nnx.Dropout(drop1, rngs=rngs)",
            "nnx.Dropout(drop1, broadcast_dims=(1, 2), rngs=rngs)",
        ),
    ),
    trap(
        "rate_taken_for_keep_in_one_layer",
        "dropout",
        ("nnx.Dropout(drop1, rngs=rngs)", "nnx.Dropout(1 - drop1, rngs=rngs)"),
    ),
    trap(
        "pool_with_stride_one",
        "forward",
        ("nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))", "nnx.max_pool(x, (2, 2))"),
        raises=True,
    ),
    trap("channels_last_flattened_as_it_is", "forward", ("x = x.transpose(0, 3, 1, 2)", "")),
    trap(
        "padded_from_the_other_side",
        "forward",
        (
            "nnx.Conv(50, 100, (3, 3), rngs=rngs)",
            'nnx.Conv(50, 100, (3, 3), padding="CIRCULAR", rngs=rngs)',
        ),
    ),
    trap(
        "one_layer_in_bfloat16",
        "forward",
        (
            "nnx.Linear(6400, 512, rngs=rngs)",
            "nnx.Linear(6400, 512, dtype=jnp.bfloat16, rngs=rngs)",
        ),
    ),
    trap(
        "compiled_by_jax_alone",
        "gradient",
        ('@nnx.jit(donate_argnames=("network", "optimizer"))', "@jax.jit"),
        raises=True,
    ),
    trap("only_kernels_trained", "gradient", ("wrt=nnx.Param", 'wrt=nnx.PathContains("kernel")')),
    trap(
        "labels_smoothed",
        "gradient",
        (
            "optax.softmax_cross_entropy_with_integer_labels(network(x), y)",
            "optax.softmax_cross_entropy(\n"
            "    network(x), optax.smooth_labels(jax.nn.one_hot(y, 10), 0.001)\n"
            ")",
        ),
    ),
    trap(
        "sigmoids_for_a_softmax",
        "gradient",
        (
            "optax.softmax_cross_entropy_with_integer_labels(network(x), y)",
            "optax.sigmoid_binary_cross_entropy(network(x), jax.nn.one_hot(y, 10)).sum(1)",
        ),
    ),
    trap("nesterov", "momentum", ("hp.momentum)", "hp.momentum, nesterov=True)")),
    trap(
        "momentum_as_an_average",
        "momentum",
        (
            "optax.sgd(hp.learning_rate, hp.momentum)",
            "optax.chain(optax.ema(hp.momentum, debias=False), optax.scale(-hp.learning_rate))",
        ),
    ),
    trap(
        "velocity_in_bfloat16",
        "momentum",
        ("hp.momentum)", "hp.momentum, accumulator_dtype=jnp.bfloat16)"),
    ),
    trap(
        "optimiser_made_again_in_each_pass",
        "momentum",
        (
            "network.train()",
            "network.train()\noptimizer = nnx.Optimizer(network, optimizer.tx, wrt=nnx.Param)",
        ),
    ),
]

ADAM = "hp.beta1, hp.beta2, hp.epsilon)"

TRAPS += [
    trap(
        "epsilon_in_the_root",
        "gradient",
        (ADAM, "hp.beta1, hp.beta2, 0.0, eps_root=hp.epsilon)"),
        model="mlp",
    ),
    trap("adamw_for_adam", "gradient", ("optax.adam(", "optax.adamw("), model="mlp"),
    trap(
        "nadam", "momentum", (ADAM, "hp.beta1, hp.beta2, hp.epsilon, nesterov=True)"), model="mlp"
    ),
    trap(
        "moment_in_bfloat16",
        "momentum",
        (ADAM, "hp.beta1, hp.beta2, hp.epsilon, mu_dtype=jax.numpy.bfloat16)"),
        ("import optax", "import jax\nimport optax"),
        model="mlp",
    ),
    trap(
        "hard_sigmoid",
        "forward",
        ("nnx.sigmoid(self.conv3(x))", "nnx.hard_sigmoid(self.conv3(x))"),
        model="lenet5",
    ),
    trap(
        "gradient_not_truncated", "gradient", ("state = lax.stop_gradient(state)", ""), model="lstm"
    ),
    trap("state_not_carried", "gradient", ("CHUNK], state)", "CHUNK])"), model="lstm"),
    trap(
        "state_taken_for_h_and_c",
        "gradient",
        ("lax.stop_gradient(state)", "lax.stop_gradient(state[::-1])"),
        model="lstm",
    ),
    trap(
        "kept_part_by_default", "gradient", ("channels, momentum=0.9,", "channels,"), model="resnet"
    ),
    trap("padding_by_default", "forward", ("padding=size // 2, ", ""), model="resnet"),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        (
            "def loss(network",
            "def predict(model, x):\n"
            "    model[0].train()\n"
            "    return cnn.np.array(model[0](x))\n\n\n"
            "def loss(network",
        ),
        model="resnet",
    ),
    trap(
        "all_parameters_decay",
        "momentum",
        ("hp.weight_decay, mask=decaying", "hp.weight_decay"),
        model="resnet",
    ),
    trap(
        "decay_beside_the_velocity",
        "momentum",
        ("optax.add_decayed_weights(hp.weight_decay, mask=decaying),", ""),
        (
            "optax.sgd(hp.learning_rate, hp.momentum),",
            "optax.trace(hp.momentum),\n"
            "optax.add_decayed_weights(hp.weight_decay, mask=decaying),\n"
            "optax.scale(-hp.learning_rate),",
        ),
        model="resnet",
    ),
]

# The GPT.
TRAPS += [
    trap(
        "gelu_exact",
        "forward",
        ("nnx.gelu(self.up(x))", "nnx.gelu(self.up(x), approximate=False)"),
        model="gpt",
    ),
    trap(
        "epsilon_by_default",
        "forward",
        ("self.norm2 = nnx.LayerNorm(WIDTH, epsilon=1e-5, ", "self.norm2 = nnx.LayerNorm(WIDTH, "),
        model="gpt",
    ),
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
        ("reshape(n, t, 3, HEADS, -1), axis=2", "reshape(n, t, HEADS, 3, -1), axis=3"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("places = first + jnp.arange", "places = jnp.arange"),
        model="gpt",
    ),
    trap(
        "place_beyond_the_table",
        "generation",
        ("network(token, caches, place)", "network(token, caches, place + half)"),
        model="gpt",
    ),
    trap(
        "empty_places_seen",
        "generation",
        ("jnp.arange(k.shape[1]) <= first", "jnp.arange(k.shape[1]) >= 0"),
        model="gpt",
    ),
    trap(
        "cache_not_carried",
        "generation",
        ("scores, caches = network(token", "scores, _ = network(token"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("self.tokens(tokens) + self", "lax.stop_gradient(self.tokens(tokens)) + self"),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        ("optax.clip_by_global_norm(hp.clip)", "optax.clip(hp.clip / 100)"),
        model="gpt",
    ),
    trap(
        "clipped_by_block",
        "momentum",
        ("optax.clip_by_global_norm(hp.clip)", "optax.clip_by_block_rms(hp.clip / 100)"),
        model="gpt",
    ),
    trap(
        "clipped_after_adam",
        "momentum",
        ("optax.clip_by_global_norm(hp.clip), adamw", "adamw, optax.clip_by_global_norm(hp.clip)"),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ("lambda w: w.ndim > 1, params", "lambda w: True, params"),
        model="gpt",
    ),
    trap(
        "embeddings_not_decayed",
        "momentum",
        (
            "jax.tree.map(lambda w: w.ndim > 1, params)",
            "jax.tree_util.tree_map_with_path(\n"
            '    lambda path, w: w.ndim > 1 and "embedding" not in str(path), params\n'
            ")",
        ),
        model="gpt",
    ),
    trap(
        "adam_with_l2",
        "momentum",
        (
            "optax.clip_by_global_norm(hp.clip), adamw",
            "optax.clip_by_global_norm(hp.clip),\n"
            "optax.add_decayed_weights(\n"
            "    hp.weight_decay, lambda params: jax.tree.map(lambda w: w.ndim > 1, params)\n"
            "),\n"
            "optax.adam(rate_of(hp), hp.beta1, hp.beta2, hp.epsilon),",
        ),
        model="gpt",
    ),
    trap(
        "epsilon_in_the_root",
        "gradient",
        ("hp.epsilon,", "0.0,\nhp.epsilon,"),
        model="gpt",
    ),
    trap(
        "schedule_ready_made",
        "momentum",
        (
            "optax.join_schedules([warmup, cosine], [hp.warmup])",
            "optax.warmup_cosine_decay_schedule(\n"
            "    first, hp.learning_rate, hp.warmup, hp.steps, hp.last_rate\n"
            ")",
        ),
        model="gpt",
    ),
    trap(
        "cosine_as_long_as_the_run",
        "momentum",
        ("hp.steps - hp.warmup, low", "hp.steps, low"),
        model="gpt",
    ),
    trap(
        "last_rate_taken_for_the_share",
        "momentum",
        ("hp.steps - hp.warmup, low", "hp.steps - hp.warmup, hp.last_rate"),
        model="gpt",
    ),
]

# The Llama.
TRAPS += [
    trap(
        "epsilon_by_default",
        "forward",
        ("self.norm2 = nnx.RMSNorm(WIDTH, epsilon=EPSILON, ", "self.norm2 = nnx.RMSNorm(WIDTH, "),
        model="llama",
    ),
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
        "padding_one_hot",
        "gradient",
        (
            "optax.softmax_cross_entropy_with_integer_labels(scores, targets)",
            "optax.softmax_cross_entropy(scores, nnx.one_hot(targets, WORDS))",
        ),
        ("losses.mean(where=targets != IGNORED)", "losses.mean()"),
        model="llama",
    ),
    trap("gelu_for_silu", "forward", ("nnx.silu", "nnx.gelu"), model="llama"),
]

# The GRU.
TRAPS += [
    trap(
        "biases_of_the_cell_added",
        "weights",
        (
            "put(network, weights, shared_name)",
            "biases = [weights[f'gru.{side}.bias'] for side in ('input', 'recurrent')]\n"
            "weights = dict(weights)\n"
            "weights['gru.input.bias'] = sum(biases)\n"
            "weights['gru.recurrent.bias'] = 0 * biases[1]\n"
            "put(network, weights, shared_name)",
        ),
        model="gru",
    ),
    trap(
        "time_first",
        "forward",
        ("return_carry=True", "return_carry=True, time_major=True"),
        model="gru",
        raises=True,
    ),
    trap(
        "tanh_in_pieces",
        "forward",
        (
            "nnx.GRUCell(125, 100, rngs=rngs)",
            "nnx.GRUCell(125, 100, activation_fn=nnx.hard_tanh, rngs=rngs)",
        ),
        model="gru",
    ),
    trap(
        "reversed", "forward", ("return_carry=True", "return_carry=True, reverse=True"), model="gru"
    ),
    trap(
        "only_kernels_trained",
        "gradient",
        ("wrt=nnx.Param", 'wrt=nnx.PathContains("kernel")'),
        model="gru",
    ),
]
