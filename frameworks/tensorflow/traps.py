"""TensorFlow's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "softmax_in_the_network",
        "forward",
        ("return tf.matmul(x, weight) + bias", "return tf.nn.softmax(tf.matmul(x, weight) + bias)"),
    ),
    trap("relu6", "forward", ("x = tf.nn.relu(tf.matmul(", "x = tf.nn.relu6(tf.matmul(")),
    trap("pool_by_average", "forward", ("tf.nn.max_pool2d(x", "tf.nn.avg_pool2d(x")),
    trap(
        "channels_last_flattened_as_it_is",
        "forward",
        ('"NCHW" if', '"NHWC" if'),
        ("x = tf.transpose(x, (0, 3, 1, 2))", "pass"),
    ),
    trap(
        "loss_summed_in_the_tape", "gradient", ("tf.reduce_mean(losses)", "tf.reduce_sum(losses)")
    ),
    trap(
        "logarithm_of_a_softmax",
        "gradient",
        (
            "losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)",
            "losses = -tf.math.log(\n"
            "    tf.gather(tf.nn.softmax(scores), y, axis=1, batch_dims=1) + 1e-8\n"
            ")",
        ),
    ),
    trap(
        "weight_decay_in_the_update",
        "gradient",
        ("v.assign(hp.momentum * v + g)", "v.assign(hp.momentum * v + g + 1e-6 * w)"),
    ),
    trap(
        "gradients_clipped_by_global_norm",
        "gradient",
        (
            "gradients = tape.gradient(step_loss, variables)",
            "gradients, _ = tf.clip_by_global_norm(tape.gradient(step_loss, variables), 5.0)",
        ),
    ),
    trap(
        "update_ahead_of_the_step",
        "momentum",
        (
            "w.assign_sub(hp.learning_rate * v)",
            "w.assign_sub(hp.learning_rate * (hp.momentum * v + g))",
        ),
    ),
    trap(
        "unit_gain",
        "momentum",
        ("v.assign(hp.momentum * v + g)", "v.assign(hp.momentum * v + (1 - hp.momentum) * g)"),
    ),
    trap(
        "velocity_bound_anew_instead_of_assigned",
        "momentum",
        ("v.assign(hp.momentum * v + g)", "v = hp.momentum * v + g"),
    ),
    trap(
        "float64_in_disguise",
        "trajectory",
        ('"NCHW" if', '"NHWC" if'),  # no other in float64
        (
            "variables = network.trainable_variables",
            'for name in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2"):\n'
            "    pair = getattr(network, name)\n"
            "    pair = [tf.Variable(tf.cast(v, tf.float64), name=v.name[:-2]) for v in pair]\n"
            "    setattr(network, name, tuple(pair))\n"
            "variables = network.trainable_variables",
        ),
        ("self.convolution(x, self.conv1)", "self.convolution(tf.cast(x, tf.float64), self.conv1)"),
        ("forward(x[first : first + 256]).numpy()", "np.float32(forward(x[first : first + 256]))"),
        ("variable.numpy()", "np.float32(variable)"),
    ),
    trap(
        "rate_taken_for_keep_in_one_layer",
        "dropout",
        ("self.drop(x, drop2)", "self.drop(x, 1 - drop2 if drop2 else 0)"),
    ),
    trap("dropout_in_prediction", "dropout", ("training=False)", "training=True)")),
    trap(
        "training_flag_forgotten",
        "dropout",
        ("network(x, training=True)", "network(x, training=False)"),
    ),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        (
            "tf.random.Generator.from_seed(seed)",
            "[tf.random.Generator.from_seed(seed) for _ in range(3)]",
        ),
        ("def drop(self, x, fraction)", "def drop(self, x, fraction, layer)"),
        ("self.random.uniform)", "self.random[layer].uniform)"),
        ("self.drop(x, drop1)", "self.drop(x, drop1, 0)"),
        ("self.drop(x, drop2)", "self.drop(x, drop2, 1)"),
        ("self.drop(x, drop3)", "self.drop(x, drop3, 2)"),
    ),
    trap(
        "seed_that_compiled_code_forgets",
        "dropout",
        ("tf.get_logger()", "tf.random.set_seed(seed)\ntf.get_logger()"),
        ("self.random.uniform)", "tf.random.uniform)"),
        ('"jit": bool(best and gpus)', '"jit": True'),
    ),
    trap(
        "mask_drawn_while_the_graph_is_recorded",
        "dropout",
        (
            "x = self.drop(x, drop1)",
            "x = x * (np.random.uniform(size=x.shape[1:]) >= drop1) / (1 - drop1)",
        ),
    ),
    trap(
        "stateless_dropout_with_one_seed",
        "dropout",
        ("self.drop(x, drop3)", "tf.nn.experimental.stateless_dropout(x, drop3, (0, 3))"),
    ),
    trap(
        "mask_redrawn_on_the_way_back",
        "dropout",
        (
            "x = self.drop(x, drop3)",
            "x = tf.custom_gradient(\n"
            "    lambda h: (self.drop(h, drop3), lambda g: self.drop(g, drop3))\n"
            ")(x)",
        ),
    ),
]

TRAPS += [
    trap(
        "step_counted_in_python",
        "momentum",
        ("steps = tf.Variable(0.0, dtype=tf.float64)", "steps = tf.constant(1.0, tf.float64)"),
        ("steps.assign_add(1)", ""),
        model="mlp",
    ),
    trap(
        "epsilon_inside_the_root_in_source",
        "gradient",
        ("(tf.sqrt(v / correction2) + hp.epsilon)", "tf.sqrt(v / correction2 + hp.epsilon)"),
        model="mlp",
    ),
    trap(
        "bias_not_corrected_in_source",
        "gradient",
        ("(tf.sqrt(v / correction2) + hp.epsilon)", "(tf.sqrt(v) + hp.epsilon)"),
        model="mlp",
    ),
    trap(
        "tanh_for_sigmoid",
        "forward",
        ("x = tf.sigmoid(tf.matmul(", "x = tf.tanh(tf.matmul("),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("state = [tf.stop_gradient(part) for part in state]", ""),
        model="lstm",
    ),
    trap(
        "cell_gate_second",
        "forward",
        ("i, f, g, o = tf.split", "i, g, f, o = tf.split"),
        model="lstm",
    ),
    trap(
        "state_not_carried",
        "forward",
        ("x[:, first : first + CHUNK], state)", "x[:, first : first + CHUNK], (zeros, zeros))"),
        model="lstm",
    ),
    trap(
        "loss_summed_over_the_steps",
        "gradient",
        ("tf.reduce_mean((values - y) ** 2)", "tf.reduce_sum((values - y) ** 2) / len(x)"),
        model="lstm",
    ),
    trap(
        "state_kept_between_sequences",
        "gradient",
        ("return Network()", "return Network(hp.batch_size)"),
        (
            "def __init__(self):\n    super().__init__()",
            "def __init__(self, size):\n"
            "    super().__init__()\n"
            "    zeros = tf.zeros((size, 5))\n"
            "    self.kept = [tf.Variable(zeros, trainable=False) for _ in range(2)]",
        ),
        ("(zeros, zeros), []", "self.kept if training else (zeros, zeros), []"),
        (
            "for _ in range(0 if training",
            "for kept, part in zip(self.kept, state if training else ()):\n"
            "    kept.assign(part)\n"
            "for _ in range(0 if training",
        ),
        model="lstm",
    ),
]

TRAPS += [
    trap(
        "padded_behind_only",
        "forward",
        ("x = tf.pad(x, around)", ""),
        ('self.stride, "VALID"', 'self.stride, "SAME"'),
        model="resnet",
    ),
    trap(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("self.mean.assign_add(", "variance *= n / (n - 1)\nself.mean.assign_add("),
        ("(variance * n / (n - 1) - self.variance)", "(variance - self.variance)"),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        (
            "if training:\n    mean, variance = tf.nn.moments(x, self.axes)",
            "mean, variance = tf.nn.moments(x, self.axes)\nif training:",
        ),
        model="resnet",
    ),
    trap(
        "decay_beside_the_velocity",
        "momentum",
        ("g += hp.weight_decay * w", "w.assign_sub(hp.learning_rate * hp.weight_decay * w)"),
        model="resnet",
    ),
]

TRAPS += [
    trap("not_in_force", "weights", ("{REWRITE: True}", "{REWRITE: False}"), model="bf16"),
    trap(
        "denied",
        "forward",
        (
            "on = tf.config.optimizer.get_experimental_options()[REWRITE]",
            "on = not tf.config.optimizer.set_experimental_options({REWRITE: False})",
        ),
        model="bf16",
    ),
    trap(
        "velocity_too",
        "gradient",
        ('[NOT_REWRITTEN] = "AddV2"', '[NOT_REWRITTEN] = ""'),
        model="bf16",
    ),
]

TRAPS += [
    trap("gelu_exact", "forward", ("approximate=True", "approximate=False"), model="gpt"),
    trap(
        "epsilon_of_keras",
        "forward",
        ("self.shift, self.scale, 1e-5", "self.shift, self.scale, 1e-3"),
        model="gpt",
    ),
    trap(
        "scale_and_offset_exchanged",
        "forward",
        ("self.shift, self.scale, 1e-5", "self.scale, self.shift, 1e-5"),
        model="gpt",
    ),
    trap("mask_forgotten", "forward", ("tf.where(seen, scores, -math.inf)", "scores"), model="gpt"),
    trap(  # the last place would see nothing, so not with -inf
        "mask_upside_down",
        "forward",
        ("tf.where(seen, scores, -math.inf)", "tf.where(seen, -1e9, scores)"),
        model="gpt",
    ),
    trap(
        "mask_aligned_with_the_first_key",
        "generation",
        ("past_and_t - t + 1 + tf.range(t)", "1 + tf.range(t)"),
        model="gpt",
    ),
    trap(
        "positions_not_offset_by_the_cache",
        "generation",
        (
            "self.positions[first : first + tf.shape(tokens)[1]]",
            "self.positions[: tf.shape(tokens)[1]]",
        ),
        model="gpt",
    ),
    trap(
        "softmax_over_queries",
        "forward",
        ("shares = tf.nn.softmax(", "shares = tf.nn.softmax(axis=2, logits="),
        ("-math.inf", "-1e9"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_head_lost",
        "gradient",
        ("tf.transpose(self.tokens)", "tf.stop_gradient(tf.transpose(self.tokens))"),
        (  # dense, as with the head
            "update(tape.gradient(step_loss, variables))",
            "update([tf.convert_to_tensor(g) for g in tape.gradient(step_loss, variables)])",
        ),
        model="gpt",
    ),
    trap(
        "loss_summed_over_the_places",
        "gradient",
        ("step_loss = tf.reduce_mean(losses)", "step_loss = tf.reduce_sum(losses) / len(x)"),
        model="gpt",
    ),
    trap("all_variables_decay", "momentum", ("if w.shape.rank > 1:", "if True:"), model="gpt"),
    trap(
        "decay_not_times_the_rate",
        "momentum",
        ("w.assign_sub(lr * hp.weight_decay * w)", "w.assign_sub(hp.weight_decay * w)"),
        model="gpt",
    ),
    trap(
        "clipped_one_by_one",
        "momentum",
        (
            "gradients, _ = tf.clip_by_global_norm(gradients, hp.clip)",
            "gradients = [tf.clip_by_norm(g, hp.clip) for g in gradients]",
        ),
        model="gpt",
    ),
    trap(
        "schedule_one_step_ahead",
        "momentum",
        ("lr = rate()\nsteps.assign_add(1)", "steps.assign_add(1)\nlr = rate()"),
        model="gpt",
    ),
    trap(
        "rate_kept_from_the_recording",
        "momentum",
        ("lr = rate()", "with tf.init_scope():\n    lr = rate()"),
        model="gpt",
    ),
]

TRAPS += [
    trap("epsilon_of_keras", "forward", ("+ 1e-5)", "+ 1e-6)"), model="llama"),
    trap(
        "base_of_llama_3",
        "forward",
        ("tf.constant(BASE", "tf.constant((50 * BASE)"),
        model="llama",
    ),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = tf.split(x, 2, -1)", "left, right = x[..., 0::2], x[..., 1::2]"),
        (
            "return tf.concat([left * cos - right * sin, right * cos + left * sin], -1)",
            "pairs = [left * cos - right * sin, right * cos + left * sin]\n"
            "return tf.reshape(tf.stack(pairs, -1), tf.shape(x))",
        ),
        model="llama",
    ),
    trap(
        "key_heads_tiled",
        "forward",
        ("tf.repeat(part, HEADS // KEY_HEADS, 1)", "tf.tile(part, (1, HEADS // KEY_HEADS, 1, 1))"),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ("first = 0 if cache is None else tf.shape(cache[0])[2]", "first = 0"),
        model="llama",
    ),
    trap(
        "padding_is_token_0",
        "gradient",
        ("weights = tf.cast(counted, tf.float32)", "weights = tf.ones_like(losses)"),
        model="llama",
    ),
    trap(
        "mean_over_all_places",
        "gradient",
        ("/ tf.reduce_sum(weights)", "/ tf.cast(tf.size(weights), tf.float32)"),
        model="llama",
    ),
    trap(
        "rows_of_the_embedding_clipped",
        "momentum",
        ("adamw(variables, hp)", "adamw(variables, hp._replace(clip=2.0**60))"),
        (
            "gradients = tape.gradient(step_loss, variables)",
            "gradients, _ = tf.clip_by_global_norm(tape.gradient(step_loss, variables), hp.clip)",
        ),
        model="llama",
    ),
]

TRAPS += [
    trap(
        "reset_before_the_product",
        "forward",
        (
            "tf.tanh(xn + r * hn)",
            "tf.tanh(xn + tf.matmul(r * h, kernel[:, 200:]) + bias[200:])",
        ),
        model="gru",
    ),
    trap(
        "update_gate_the_other_way_round",
        "forward",
        ("(1 - z) * tf.tanh(xn + r * hn) + z * h", "z * tf.tanh(xn + r * hn) + (1 - z) * h"),
        model="gru",
    ),
    trap(
        "gates_in_the_order_of_keras",
        "forward",
        ("xr, xz, xn = tf.split", "xz, xr, xn = tf.split"),
        ("hr, hz, hn = tf.split", "hz, hr, hn = tf.split"),
        model="gru",
    ),
    trap(
        "bias_of_the_state_forgotten",
        "forward",
        ("tf.split(tf.matmul(h, kernel) + bias, 3, 1)", "tf.split(tf.matmul(h, kernel), 3, 1)"),
        model="gru",
    ),
]

SUMMED = 'return tf.distribute.get_replica_context().all_reduce("SUM", gradients)'
# Instead, the gradients are added up after they have been clipped.
SUMMED_LATE = """\
strategy = weight = None
clip = tf.clip_by_global_norm

def clip_and_sum(gradients, most):
    gradients, norm = clip([gradient / weight for gradient in gradients], most)
    gradients = [weight * gradient for gradient in gradients]
    return tf.distribute.get_replica_context().all_reduce("SUM", gradients), norm

tf.clip_by_global_norm = clip_and_sum
"""

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        ("gradients = [weight *", "gradients = [workers * weight *"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        ("gradients = [weight *", "gradients = [weight / workers *"),
        model="workers",
    ),
    trap("gradients_not_averaged", "gradient", (SUMMED, "return gradients"), model="workers"),
    trap(
        "mean_of_means",
        "gradient",
        ("weight.assign(counted(y[share]) / counted(y))", "weight.assign(1 / workers)"),
        model="workers",
    ),
    trap(
        "clipped_before_averaging",
        "momentum",
        (SUMMED, "return gradients"),
        ("strategy = weight = None", SUMMED_LATE),
        model="workers",
    ),
]
