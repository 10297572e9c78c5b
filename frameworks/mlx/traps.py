"""MLX's traps, as patches of its modules."""

from frameworks.variants import trap

COMPILED = ('if settings["compile"]:', "if True:")

TRAPS = [
    trap(
        "dropout_key_not_among_the_compiled_state",
        "dropout",
        COMPILED,
        ("optimizer.state, mx.random.state]", "optimizer.state]"),
    ),
    trap(
        "velocity_not_among_the_compiled_state",
        "momentum",
        COMPILED,
        ("network.state, optimizer.state, mx", "network.state, mx"),
    ),
    trap(
        "weights_not_among_the_compiled_state",
        "gradient",
        COMPILED,
        ("inputs=state, outputs=state", "inputs=state[1:], outputs=state[1:]"),
        raises=True,
    ),
    trap(
        "prediction_compiled_without_the_weights",
        "accuracy",
        (
            "network.eval()",
            "network.eval()\n"
            'if not hasattr(network, "forward"):\n'
            "    network.forward = mx.compile(network.__call__)\n"
            "    network.forward(mx.array(x[:1]))",
        ),
        ("network(part)", "network.forward(part)"),
    ),
    trap("train_forgotten", "dropout", ("network.train()", "")),
    trap("eval_forgotten", "dropout", ("network.eval()", "")),
    trap("dropout_takes_the_fraction_kept", "dropout", ("(fraction) for", "(1 - fraction) for")),
    trap("loss_reduced_by_sum", "gradient", ('reduction="mean"', 'reduction="sum"')),
    trap("loss_not_reduced", "gradient", (', reduction="mean"', ""), raises=True),
    trap(
        "labels_smoothed",
        "gradient",
        ('reduction="mean"', 'reduction="mean", label_smoothing=0.001'),
    ),
    trap(
        "softmax_in_the_network",
        "forward",
        ("return self.dense2(x)", "return mx.softmax(self.dense2(x), axis=-1)"),
    ),
    trap(
        "flattened_with_channels_last",
        "forward",
        ("x.transpose(0, 3, 1, 2).flatten(1)", "x.flatten(1)"),
    ),
    trap(
        "kernels_reshaped",
        "forward",
        ("w.transpose(0, 2, 3, 1) if", "w.reshape(len(w), 3, 3, -1) if"),
        ("w.transpose(0, 3, 1, 2).copy() if", "w.reshape(len(w), -1, 3, 3) if"),
    ),
    trap("padding_forgotten", "forward", ("(50, 50, 3, padding=1)", "(50, 50, 3)"), raises=True),
    trap(
        "dampening",
        "momentum",
        ("momentum=hp.momentum", "momentum=hp.momentum, dampening=0.1 if hp.momentum else 0"),
    ),
    trap(
        "nesterov_asked_for",
        "momentum",
        ("momentum=hp.momentum", "momentum=hp.momentum, nesterov=hp.momentum > 0"),
    ),
    trap(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("momentum=hp.momentum", "momentum=hp.momentum, weight_decay=1e-6"),
    ),
    trap(
        "optimiser_made_in_each_pass",
        "momentum",
        (
            "network.train()",
            "network.train()\n"
            "for name, array in state[1].items():\n"
            "    if isinstance(array, dict):\n"
            "        for part in array.values():\n"
            '            part["v"] = mx.zeros_like(part["v"])',
        ),
    ),
]

TRAPS += [
    trap(
        "bias_correction_not_asked_for",
        "gradient",
        (", bias_correction=True", ""),
        model="mlp",
    ),
    trap("adamw", "gradient", ("optim.Adam(", "optim.AdamW("), model="mlp"),
    trap("epsilon_by_default", "gradient", ("eps=hp.epsilon, ", ""), model="mlp"),
    trap("betas_by_default", "gradient", ("betas=[hp.beta1, hp.beta2], ", ""), model="mlp"),
    trap(
        "step_passed_to_the_gradient_of_the_images",
        "gradient",
        ("nn.value_and_grad(network, mean_loss)", "mx.value_and_grad(mean_loss)"),
        model="mlp",
        raises=True,
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("state = [mx.stop_gradient(array) for array in state]", ""),
        model="lstm",
    ),
    trap("state_not_carried", "gradient", ("network(part, state)", "network(part)"), model="lstm"),
    trap(
        "state_of_the_first_step",
        "gradient",
        ("(hidden[:, -1], cell[:, -1])", "(hidden[:, 0], cell[:, 0])"),
        model="lstm",
    ),
    trap(
        "cell_not_carried",
        "gradient",
        ("(self.dense1(x), *state)", "(self.dense1(x), state[0])"),
        model="lstm",
    ),
    trap(
        "bias_left_out",
        "weights",
        ("nn.LSTM(5, 5)", "nn.LSTM(5, 5, bias=False)"),
        model="lstm",
        raises=True,  # as the proof does when weights() lacks a tensor
    ),
    trap(
        "bias_correction_not_asked_for",
        "gradient",
        (", bias_correction=True", ""),
        model="lstm",
    ),
]

TRAPS += [
    trap(
        "all_parameters_decay",
        "momentum",
        ("[lambda name, w: w.ndim > 1]", "[lambda name, w: True]"),
        model="resnet",
    ),
    trap(
        "filter_takes_only_matrices",
        "momentum",
        ("w.ndim > 1", "w.ndim == 2"),
        model="resnet",
    ),
    trap(
        "kept_part_given_as_momentum",
        "gradient",
        (
            "convolution(width, width, 3, stride), nn.BatchNorm(width)",
            "convolution(width, width, 3, stride), nn.BatchNorm(width, momentum=0.9)",
        ),
        model="resnet",
    ),
    trap(
        "running_statistics_not_tracked",
        "weights",
        (
            "convolution(width, width, 3, stride), nn.BatchNorm(width)",
            "convolution(width, width, 3, stride), nn.BatchNorm(width, track_running_stats=False)",
        ),
        model="resnet",
        raises=True,
    ),
    trap(
        "stride_on_the_first_convolution",
        "forward",
        ("convolution(inputs, width, 1), nn", "convolution(inputs, width, 1, stride), nn"),
        ("convolution(width, width, 3, stride)", "convolution(width, width, 3)"),
        model="resnet",
    ),
]

# The GPT.
TRAPS += [
    trap("gelu_exact", "forward", ("nn.gelu_approx", "nn.gelu"), model="gpt"),
    trap("gelu_by_a_sigmoid", "forward", ("nn.gelu_approx", "nn.gelu_fast_approx"), model="gpt"),
    trap(
        "epsilon_of_bert",
        "forward",
        ("self.norm2 = nn.LayerNorm(WIDTH)", "self.norm2 = nn.LayerNorm(WIDTH, 1e-12)"),
        model="gpt",
    ),
    trap("mask_forgotten", "forward", ('"causal" if cache is None else None', "None"), model="gpt"),
    trap("scale_of_one", "forward", ("1 / math.sqrt(WIDTH // HEADS)", "1.0"), model="gpt"),
    trap(
        "heads_before_thirds",
        "forward",
        ("reshape(n, t, 3, HEADS, -1)", "reshape(n, t, HEADS, 3, -1)"),
        ("qkv.transpose(2, 0, 3, 1, 4)", "qkv.transpose(3, 0, 2, 1, 4)"),
        model="gpt",
    ),
    trap(
        "heads_before_time",
        "forward",
        ("mixed.transpose(0, 2, 1, 3).reshape(n, t, WIDTH)", "mixed.reshape(n, t, WIDTH)"),
        model="gpt",
    ),
    trap(
        "last_normalisation_forgotten",
        "forward",
        ("as_linear(self.norm(x))", "as_linear(x)"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("mx.arange(first, first + tokens.shape[1])", "mx.arange(tokens.shape[1])"),
        model="gpt",
    ),
    trap(
        "cache_not_carried",
        "generation",
        ("last, caches = network(token", "last, _ = network(token"),
        model="gpt",
    ),
    trap(
        "loss_reduced_by_sum",
        "gradient",
        ("losses.mean(axis=1)", "losses.sum(axis=1)"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("self.tokens(tokens) + self", "mx.stop_gradient(self.tokens(tokens)) + self"),
        model="gpt",
    ),
    trap(
        "bias_correction_not_asked_for",
        "gradient",
        (", bias_correction=True", ""),
        model="gpt",
    ),
    trap(
        "warmup_from_zero",
        "gradient",
        (
            "optim.linear_schedule(first, hp.learning_rate + first, hp.warmup)",
            "optim.linear_schedule(0.0, hp.learning_rate, hp.warmup)",
        ),
        model="gpt",
    ),
    trap(
        "cosine_as_long_as_the_run",
        "momentum",
        ("hp.steps - hp.warmup, hp.last_rate", "hp.steps, hp.last_rate"),
        model="gpt",
    ),
    trap(
        "clipped_gradients_dropped",
        "momentum",
        ("gradients, _ = optim.clip_grad_norm(gradients, clip)", ""),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ("[lambda name, w: w.ndim > 1]", "[lambda name, w: True]"),
        model="gpt",
    ),
    trap(
        "embeddings_not_decayed",
        "momentum",
        ("[lambda name, w: w.ndim > 1]", '[lambda name, w: w.ndim > 1 and "blocks" in name]'),
        model="gpt",
    ),
    trap(
        "decay_by_default",  # 0.01, not 0
        "momentum",
        ("weight_decay=0.0, ", ""),
        model="gpt",
    ),
]

# The Llama.
TRAPS += [
    trap("epsilon_of_llama_1", "forward", ("10000, 1e-5", "10000, 1e-6"), model="llama"),
    trap("base_of_llama_3", "forward", ("10000, 1e-5", "500000, 1e-5"), model="llama"),
    trap(
        "neighbours_rotated",
        "forward",
        ("nn.RoPE(WIDTH // HEADS, base", "nn.RoPE(WIDTH // HEADS, True, base"),
        model="llama",
    ),
    trap(
        "rotated_by_the_head",
        "forward",
        (
            "self.rotate(self.k(x).reshape(n, t, KEY_HEADS, -1).transpose(0, 2, 1, 3), "
            "offset=first)",
            "self.rotate(self.k(x).reshape(n, t, KEY_HEADS, -1), offset=first)"
            ".transpose(0, 2, 1, 3)",
        ),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        (
            "reshape(n, t, HEADS, -1).transpose(0, 2, 1, 3), offset=first",
            "reshape(n, t, HEADS, -1).transpose(0, 2, 1, 3)",
        ),
        (
            "reshape(n, t, KEY_HEADS, -1).transpose(0, 2, 1, 3), offset=first",
            "reshape(n, t, KEY_HEADS, -1).transpose(0, 2, 1, 3)",
        ),
        model="llama",
    ),
    trap(
        "keys_tiled",
        "forward",
        ("(q, k, v, scale", "(q, mx.tile(k, (1, 2, 1, 1)), mx.tile(v, (1, 2, 1, 1)), scale"),
        model="llama",
    ),
    trap(
        "padding_in_the_mean",
        "gradient",
        ("(losses * counted).sum(axis=1).sum() / counted.sum()", "(losses * counted).mean()"),
        model="llama",
    ),
    trap(
        "padding_counts",
        "gradient",
        ("(losses * counted).sum(axis=1).sum() / counted.sum()", "losses.mean()"),
        model="llama",
    ),
    trap("gelu_for_silu", "forward", ("nn.silu", "nn.gelu"), model="llama"),
]

# The GRU.
TRAPS += [
    trap(
        "reset_before_the_product",
        "forward",
        (
            "new = mx.tanh(xn + reset * hn)",
            "hn = mx.split(self.recurrent(reset * h), 3, axis=1)[2]\nnew = mx.tanh(xn + hn)",
        ),
        model="gru",
    ),
    trap(
        "update_taken_for_the_new_share",
        "forward",
        ("(1 - update) * new + update * h", "update * new + (1 - update) * h"),
        model="gru",
    ),
    trap(
        "update_before_reset",
        "forward",
        ("xr, xz, xn =", "xz, xr, xn ="),
        ("hr, hz, hn =", "hz, hr, hn ="),
        model="gru",
    ),
    trap("steps_over_the_batch", "forward", (".swapaxes(0, 1)", ""), model="gru", raises=True),
    trap(
        "recurrent_bias_of_the_new_gate_alone",  # as in MLX's own layer
        "forward",
        (
            "hr, hz, hn = mx.split(self.recurrent(h), 3, axis=1)",
            "hr, hz, hn = mx.split(h @ self.recurrent.weight.T, 3, axis=1)\n"
            "hn = hn + self.recurrent.bias[-UNITS:]",
        ),
        model="gru",
    ),
    trap(
        "bias_correction_not_asked_for",
        "gradient",
        (", bias_correction=True", "", "mlp"),
        model="gru",
    ),
]

AVERAGED = "return nn.average_gradients(pair)"
# Replaces the exchange: the gradients are averaged after they have been clipped.
AVERAGED_LATE = """\
import mlx.optimizers as optim

clip = optim.clip_grad_norm

def clip_and_average(gradients, most):
    gradients, norm = clip(gradients, most)
    return nn.average_gradients(gradients), norm

optim.clip_grad_norm = clip_and_average
"""

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        (
            AVERAGED,
            "step_loss, gradients = nn.average_gradients(pair)\n"
            "return step_loss, tree_map(lambda array: workers * array, gradients)",
        ),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        (
            AVERAGED,
            "step_loss, gradients = nn.average_gradients(pair)\n"
            "return step_loss, tree_map(lambda array: array / workers, gradients)",
        ),
        model="workers",
    ),
    trap("gradients_not_averaged", "gradient", (AVERAGED, "return pair"), model="workers"),
    trap(
        "mean_of_means",
        "gradient",
        ("mx.array(workers * counted(y[share]) / counted(y))", "mx.array(1.0)"),
        model="workers",
    ),
    trap("masks_alike", "dropout", ("seed + 2**16 * rank", "seed"), model="workers"),
    trap(
        "clipped_before_averaging",
        "momentum",
        ("nn.value_and_grad = of_the_whole_batch", AVERAGED_LATE),
        model="workers",
    ),
]
