"""Paddle's traps, as patches of its modules."""

from frameworks.variants import trap


def with_loss(name, function):
    """A mistake that is another loss."""
    return trap(
        name,
        "gradient",
        ("cross_entropy, optimizer", "%s, optimizer" % function),
    )


def with_optimiser(name, rung, argument):
    """A mistake that is an argument of the optimiser."""
    parameters = "parameters=network.parameters()"
    return trap(name, rung, (parameters, "%s, %s" % (parameters, argument)))


# The shape does not betray it: dense2 of the MLP is 1000 x 1000.
PUT = 'w.T if w.ndim == 2 and name != "dense2.weight" else w for name, w in weights'
TAKEN = 'w.T.copy() if w.ndim == 2 and name != "dense2.weight" else w for name, w in found'

TRAPS = [
    trap(
        "softmax_in_the_network",
        "forward",
        ('("dense2", nn.Linear(512, 10)),', '("dense2", nn.Linear(512, 10)), ("p", nn.Softmax()),'),
    ),
    trap("relu6", "forward", ('("relu5", nn.ReLU())', '("relu5", nn.ReLU6())')),
    trap(
        "pool_by_average",
        "forward",
        ('("pool1", nn.MaxPool2D(2))', '("pool1", nn.AvgPool2D(2))'),
    ),
    trap(
        "dense_weight_not_transposed",  # set_state_dict leaves it as drawn, with a warning
        "weights",
        ("w.T if w.ndim == 2 else w for name, w in weights", "w for name, w in weights"),
    ),
    trap(
        "images_taken_for_channels_last",
        "forward",
        ('nn.Conv2D(3, 50, 3, padding="same")', 'nn.Conv2D(3, 50, 3, 1, 1, data_format="NHWC")'),
        raises=True,
    ),
    with_loss("loss_clipped_at_64", "nn.CrossEntropyLoss()"),
    with_loss("softmax_twice", "lambda scores, y: cross_entropy(F.softmax(scores), y)"),
    with_loss(
        "probabilities_given_to_the_loss",
        "lambda scores, y: F.cross_entropy(F.softmax(scores), y, use_softmax=False)",
    ),
    trap(
        "loss_reduced_by_sum",
        "gradient",
        ("shifted - logarithm, labels)", 'shifted - logarithm, labels, reduction="sum")'),
    ),
    with_optimiser("weight_decay_in_the_optimiser", "gradient", "weight_decay=1e-6"),
    with_optimiser(
        "gradients_clipped_by_global_norm",
        "gradient",
        "grad_clip=nn.ClipGradByGlobalNorm(5.0)",
    ),
    with_optimiser("nesterov_asked_for", "momentum", "use_nesterov=True"),
    trap("clear_grad_forgotten", "momentum", ("optimizer.clear_grad()", "")),
    trap("eval_forgotten", "dropout", ("network.eval()", "network.train()")),
    trap(
        "dropout_scaled_in_prediction",
        "dropout",
        ("nn.Dropout(drop1)", 'nn.Dropout(drop1, mode="downscale_in_infer")'),
    ),
    trap(
        "dropout_of_whole_channels",
        "dropout",
        ("nn.Dropout(drop2)", "nn.Dropout2D(drop2)"),
    ),
    trap("seed_of_numpy_alone", "dropout", ("paddle.seed(seed)", "np.random.seed(seed)")),
    trap(
        "float64_in_disguise",
        "trajectory",
        (
            "return compiled(network, settings,",
            'return compiled(network.to(dtype="float64"), settings,',
        ),
        ("w.T if w.ndim == 2 else w for", '(w.T if w.ndim == 2 else w).astype("float64") for'),
        ("x = paddle.to_tensor(x)", 'x = paddle.to_tensor(x, "float64")'),
        ("x[first : first + 256])).numpy()", 'x[first : first + 256], "float64")).numpy()'),
        ("np.concatenate(scores)", 'np.concatenate(scores).astype("float32")'),
        ("tensor.numpy() for", 'tensor.numpy().astype("float32") for'),
    ),
]

TRAPS += [
    trap(
        "square_weight_not_transposed",
        "forward",
        ("w.T if w.ndim == 2 else w for name, w in weights", PUT, "cnn"),
        ("w.T.copy() if w.ndim == 2 else w for name, w in found", TAKEN, "cnn"),
        model="mlp",
    ),
    trap("adamw", "gradient", ("optimizer.Adam(", "optimizer.AdamW("), model="mlp"),
    trap("epsilon_by_default", "gradient", ("epsilon=hp.epsilon,", ""), model="mlp"),
    trap(
        "amsgrad",
        "momentum",
        ("epsilon=hp.epsilon,", "epsilon=hp.epsilon, amsgrad=True,"),
        model="mlp",
    ),
    trap("clear_grad_forgotten", "momentum", ("optimizer.clear_grad()", "", "cnn"), model="mlp"),
    trap(
        "hard_sigmoid",
        "forward",
        ('("sigmoid2", nn.Sigmoid())', '("sigmoid2", nn.Hardsigmoid())'),
        model="lenet5",
    ),
    trap("sigmoid_forgotten", "forward", ('("sigmoid4", nn.Sigmoid()),', ""), model="lenet5"),
]

TRAPS += [
    trap(
        "time_major",
        "forward",
        ("nn.LSTM(5, 5)", "nn.LSTM(5, 5, time_major=True)"),
        model="lstm",
        raises=True,
    ),
    trap(
        "gradient_not_truncated",
        "gradient",
        ("state = [part.detach() for part in state]", ""),
        model="lstm",
    ),
    trap(
        "state_not_carried", "gradient", ("network(x_part, state)", "network(x_part)"), model="lstm"
    ),
    trap(
        "state_kept_between_sequences",
        "momentum",
        ("None, 0", "state, 0"),
        ("network.train()", "network.train()\nstate = None"),
        model="lstm",
    ),
    trap(
        "second_bias_trained",
        "gradient",
        ("parameters=list(named(network).values())", "parameters=network.parameters()"),
        (
            "found = {name: tensor.numpy() for name, tensor in named(model[0]).items()}",
            "found = {name: tensor.numpy() for name, tensor in named(model[0]).items()}\n"
            'found["lstm.bias"] = found["lstm.bias"] + model[0].lstm.bias_hh_l0.numpy()',
        ),
        model="lstm",
    ),
    trap(
        "second_bias_left_as_drawn",
        "forward",
        ("nn.initializer.Constant(0.0)(network.lstm.bias_hh_l0)", ""),
        model="lstm",
    ),
    trap("clear_grad_forgotten", "momentum", ("optimizer.clear_grad()", ""), model="lstm"),
]

TRAPS += [
    trap(
        "new_part_given_as_momentum",
        "gradient",
        (
            "3, stride), nn.BatchNorm2D(width)",
            "3, stride), nn.BatchNorm2D(width, momentum=0.1)",
        ),
        model="resnet",
    ),
    trap(
        "running_variance_unsaid",
        "gradient",
        ('running_variance="biased"', 'running_variance="unbiased"'),
        model="resnet",
    ),
    trap(
        "all_parameters_decay",
        "momentum",
        ('{"params": others}', '{"params": others, "weight_decay": hp.weight_decay}'),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        ("network.eval()", "network.train()", "cnn"),
        model="resnet",
    ),
]
