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
    trap("bias_left_out", "weights", ("nn.LSTM(5, 5)", "nn.LSTM(5, 5, bias=False)"), model="lstm"),
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
