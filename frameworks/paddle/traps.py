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

# The GPT.
TRAPS += [
    trap("gelu_exact", "forward", ("approximate=True", "approximate=False"), model="gpt"),
    trap(
        "epsilon_of_bert",
        "forward",
        ("self.norm2 = nn.LayerNorm(WIDTH)", "self.norm2 = nn.LayerNorm(WIDTH, 1e-12)"),
        model="gpt",
    ),
    trap("mask_forgotten", "forward", ("cache is None)", "False)"), model="gpt"),
    trap("causal_in_generation_too", "generation", ("cache is None)", "True)"), model="gpt"),
    trap(
        "position_of_the_first_token",
        "generation",
        ("paddle.arange(first, first + tokens.shape[1])", "paddle.arange(tokens.shape[1])"),
        model="gpt",
    ),
    trap(
        "heads_before_thirds",
        "forward",
        ("reshape([0, 0, 3, HEADS, WIDTH // HEADS])", "reshape([0, 0, HEADS, 3, WIDTH // HEADS])"),
        ("qkv.unbind(2)", "qkv.unbind(3)"),
        model="gpt",
    ),
    trap(
        "heads_before_time",  # as other attentions take them
        "forward",
        ("qkv.unbind(2)", "qkv.transpose([0, 3, 2, 1, 4]).unbind(2)"),
        ("mixed.flatten(2)", "mixed.transpose([0, 2, 1, 3]).flatten(2)"),
        model="gpt",
        raises=True,
    ),
    trap(
        "loss_that_clips_at_64",
        "gradient",
        ("cross_entropy, optimizer, schedule", "nn.CrossEntropyLoss(), optimizer, schedule"),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("self.tokens(tokens) + self", "self.tokens(tokens).detach() + self"),
        model="gpt",
    ),
    trap(
        "decay_by_the_names_of_the_layers",  # so that no name matches
        "momentum",
        (
            "{w.name for w in network.parameters() if w.ndim > 1}",
            "{name for name, w in network.named_parameters() if w.ndim > 1}",
        ),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ("apply_decay_param_fun=lambda name: name in matrices,", ""),
        model="gpt",
    ),
    trap(
        "adam_with_l2",
        "momentum",
        ("optimizer.AdamW(", "optimizer.Adam("),
        ("apply_decay_param_fun=lambda name: name in matrices,", ""),
        model="gpt",
    ),
    trap(
        "clipped_tensor_by_tensor",
        "momentum",
        ("nn.ClipGradByGlobalNorm(", "nn.ClipGradByNorm("),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        ("nn.ClipGradByGlobalNorm(hp.clip)", "nn.ClipGradByValue(hp.clip / 100)"),
        model="gpt",
    ),
    trap("schedule_not_stepped", "momentum", ("schedule.step()", ""), model="gpt"),
    trap(
        "schedule_before_the_step",
        "momentum",
        (
            "optimizer.step()\noptimizer.clear_grad()\nschedule.step()",
            "schedule.step()\noptimizer.step()\noptimizer.clear_grad()",
        ),
        model="gpt",
    ),
    trap("gradients_never_cleared", "momentum", ("optimizer.clear_grad()", ""), model="gpt"),
]

# The Llama.
TRAPS += [
    trap("epsilon_of_llama_1", "forward", ("10000, 1e-5", "10000, 1e-6"), model="llama"),
    trap("base_of_llama_3", "forward", ("10000, 1e-5", "500000, 1e-5"), model="llama"),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = x.chunk(2, -1)", "left, right = x[..., 0::2], x[..., 1::2]"),
        (
            "paddle.concat([left * cos - right * sin, right * cos + left * sin], -1)",
            "paddle.stack([left * cos - right * sin, right * cos + left * sin], -1).flatten(-2)",
        ),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ("reshape([0, 0, HEADS, WIDTH // HEADS]), first)", "reshape([0, 0, HEADS, 32]), 0)"),
        ("reshape([0, 0, KEY_HEADS, WIDTH // HEADS]), first)", "reshape([0, 0, 2, 32]), 0)"),
        model="llama",
    ),
    trap(
        "keys_tiled",
        "forward",
        ("(q, k, v, is_causal", "(q, k.tile([1, 1, 2, 1]), v.tile([1, 1, 2, 1]), is_causal"),
        model="llama",
    ),
    trap(
        "gate_and_up_exchanged",
        "forward",
        ("F.swiglu(self.gate(x), self.up(x))", "F.swiglu(self.up(x), self.gate(x))"),
        model="llama",
    ),
    trap(
        "halves_of_up",  # the form with one argument, on a product that is twice as wide
        "forward",
        (
            "F.swiglu(self.gate(x), self.up(x))",
            "F.swiglu(paddle.concat([self.up(x), self.gate(x)], -1))",
        ),
        model="llama",
    ),
    trap(
        "padding_in_the_mean",
        "gradient",
        ("losses(scores, targets).sum() / counted", "losses(scores, targets).mean()"),
        model="llama",
    ),
    trap(
        "padding_counts",
        "gradient",
        ("losses(scores, targets).sum()", "losses(scores, targets.clip(min=0)).sum()"),
        model="llama",
    ),
]

# The GRU.
TRAPS += [
    trap(
        "padding_index",
        "forward",
        ("nn.Embedding(10000, 125)", "nn.Embedding(10000, 125, padding_idx=0)"),
        model="gru",
    ),
    trap(
        "time_first",
        "forward",
        ("nn.GRU(125, 100)", "nn.GRU(125, 100, time_major=True)"),
        model="gru",
        raises=True,
    ),
    trap(
        "mean_of_the_states",
        "forward",
        ("_, state = self.gru", "states, _ = self.gru"),
        ("state[0]", "states.mean(1)"),
        model="gru",
    ),
    trap(
        "only_the_words_of_the_batch_move",
        "momentum",
        ("nn.Embedding(10000, 125)", "nn.Embedding(10000, 125, sparse=True)"),
        ("epsilon=hp.epsilon,", "epsilon=hp.epsilon, lazy_mode=True,"),
        model="gru",
    ),
]

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        ("weight = workers * counted(y[share])", "weight = workers**2 * counted(y[share])"),
        ("step_loss / workers", "step_loss / workers**2"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        ("weight = workers * counted(y[share])", "weight = counted(y[share])"),
        ("step_loss / workers", "step_loss"),
        model="workers",
    ),
    trap(
        "gradients_not_averaged",
        "gradient",
        (
            "return (paddle.DataParallel(network), weighted, *others)",
            'network.__dict__["_layers"] = network\nreturn (network, weighted, *others)',
        ),
        model="workers",
    ),
    trap(
        "mean_of_means",
        "gradient",
        ("weight = workers * counted(y[share]) / counted(y)", "weight = 1.0"),
        model="workers",
    ),
    trap("masks_alike", "dropout", ("seed + 2**16 * rank", "seed"), model="workers"),
]
