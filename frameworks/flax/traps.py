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
