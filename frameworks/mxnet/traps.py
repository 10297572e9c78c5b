"""Gluon's traps, as patches of its modules."""

from frameworks.variants import trap

LOSS = "criterion(nd.log_softmax(network(x), temperature=1), y)"


def with_option(name, rung, option):
    """A mistake that is an option of the optimiser."""
    return trap(name, rung, ('"momentum": hp.momentum}', '"momentum": hp.momentum, %s}' % option))


TRAPS = [
    trap(
        "relu_with_a_ceiling",
        "forward",
        ("nn.Dropout(drop1)", "nn.HybridLambda(lambda F, x: F.clip(x, 0, 6)), nn.Dropout(drop1)"),
    ),
    trap(
        "pool_by_average",
        "forward",
        ("nn.MaxPool2D(2), nn.Dropout(drop1)", "nn.AvgPool2D(2), nn.Dropout(drop1)"),
    ),
    trap("from_logits_in_the_sense_of_keras", "gradient", (LOSS, "criterion(network(x), y)")),
    trap("rescaling_forgotten", "gradient", ("trainer.step(len(y))", "trainer.step(1)")),
    trap("divided_by_the_batch_size_twice", "gradient", (LOSS, LOSS + ".mean()")),
    trap(
        "gradients_added_up",
        "momentum",
        (
            "trainer = gluon.Trainer(",
            'network.collect_params().setattr("grad_req", "add")\ntrainer = gluon.Trainer(',
        ),
    ),
    trap(
        "probability_clipped_in_the_loss",
        "gradient",
        (LOSS, "nd.softmax_cross_entropy(network(x), y)"),
        ("yield losses.mean()", "yield (losses.mean() / len(y))"),
    ),
    with_option("weight_decay_in_the_optimiser", "gradient", '"wd": 1e-6'),
    with_option("gradients_clipped", "gradient", '"clip_gradient": 1.0'),
    trap("nesterov_asked_for", "momentum", ('parameters, "sgd"', 'parameters, "nag"')),
    trap(
        "trainer_made_in_each_pass",
        "momentum",
        (
            "for x, y in batches:",
            'options = {k: getattr(trainer.optimizer, k) for k in ("lr", "momentum")}\n'
            'options["learning_rate"] = options.pop("lr")\n'
            'trainer = gluon.Trainer(network.collect_params(), "sgd", options)\n'
            "for x, y in batches:",
        ),
    ),
    trap(
        "training_mode_forgotten",
        "dropout",
        ("autograd.record()", "autograd.record(train_mode=False)"),
    ),
    trap(
        "dropout_in_prediction",
        "dropout",
        (
            "return np.concatenate([network(part)",
            "with autograd.train_mode():\n    return np.concatenate([network(part)",
        ),
    ),
    trap(
        "one_mask_for_all_channels",
        "dropout",
        ("nn.Dropout(drop2)", "nn.Dropout(drop2, axes=(1,))"),
    ),
    trap(
        "reseeded_in_each_pass",
        "dropout",
        (
            "network, criterion, trainer = model",
            "network, criterion, trainer = model\nmx.random.seed(0)",
        ),
    ),
    trap(
        "among_the_five_highest", "accuracy", ("mx.metric.Accuracy()", "mx.metric.TopKAccuracy(5)")
    ),
]

TRAPS += [
    trap("epsilon_by_default", "gradient", (', "epsilon": hp.epsilon', ""), model="mlp"),
    trap(
        "weight_decay_in_the_optimiser",
        "gradient",
        ('"epsilon": hp.epsilon', '"epsilon": hp.epsilon, "wd": 1e-4'),
        model="mlp",
    ),
    trap(
        "adamax", "gradient", (', "epsilon": hp.epsilon', ""), ('"adam"', '"adamax"'), model="mlp"
    ),
    trap(
        "softsign_for_sigmoid",
        "forward",
        ('in_units=480, activation="sigmoid"', 'in_units=480, activation="softsign"'),
        model="lenet5",
    ),
    trap(
        "pool_by_average",
        "forward",
        ('"conv2_"), nn.MaxPool2D', '"conv2_"), nn.AvgPool2D'),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated", "gradient", ("h.detach()", "h"), ("c.detach()", "c"), model="lstm"
    ),
    trap("half_of_the_squared_error", "gradient", ("L2Loss(weight=2)", "L2Loss()"), model="lstm"),
    trap(
        "second_bias_trained",
        "gradient",
        ('network.lstm.l0_h2h_bias.grad_req = "null"', ""),
        (
            'del parameters["lstm_l0_h2h_bias"]\nreturn {',
            'second = parameters.pop("lstm_l0_h2h_bias").data().asnumpy()\nfound = {',
        ),
        (
            "for name, parameter in parameters.items()\n}",
            "for name, parameter in parameters.items()\n"
            "}\n"
            'return dict(found, **{"lstm.bias": found["lstm.bias"] + second})',
        ),
        model="lstm",
    ),
    trap(
        "time_first",
        "forward",
        ('layout="NTC", input_size', "input_size"),
        model="lstm",
        raises=True,
    ),
    trap(
        "state_kept_between_sequences",
        "momentum",
        ("for x, y in batches:", "h = c = None\nfor x, y in batches:"),
        (
            "h, c = network.lstm.begin_state(len(x), ctx=device)\nlosses",
            "if h is None:\n    h, c = network.lstm.begin_state(len(x), ctx=device)\nlosses",
        ),
        model="lstm",
    ),
]

TRAPS += [trap("not_in_force", "forward", ('amp.init("bfloat16")', ""), model="bf16")]

# The GRU.
TRAPS += [
    trap("time_first", "forward", ('layout="NTC", ', ""), model="gru", raises=True),
    trap("first_state_taken", "forward", ("begin=-1, end=None", "begin=0, end=1"), model="gru"),
    trap(
        "recurrent_biases_not_trained",
        "gradient",
        (
            "network.hybridize(**graph)",
            'network.collect_params(".*h2h_bias").setattr("grad_req", "null")\n'
            "network.hybridize(**graph)",
        ),
        model="gru",
    ),
    trap(
        "only_the_words_of_the_batch_move",
        "trajectory",
        ("nn.Embedding(10000, 125,", "nn.Embedding(10000, 125, sparse_grad=True,"),
        model="gru",
    ),
]

# The GPT.
TRAPS += [
    trap(
        "gelu_by_the_error_function",
        "forward",
        (
            "0.5 * x * (1 + nd.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
            'nd.LeakyReLU(x, act_type="gelu")',
        ),
        model="gpt",
    ),
    trap(
        "dense_over_all_places",
        "forward",
        (
            "nn.Dense(WIDTH, in_units=4 * WIDTH, flatten=False)",
            "nn.Dense(WIDTH, in_units=4 * WIDTH)",
        ),
        model="gpt",
        raises=True,
    ),
    trap(
        "softmax_over_the_queries",
        "forward",
        ("nd.softmax(scores, axis=2, temperature=1)", "nd.softmax(scores, axis=1, temperature=1)"),
        model="gpt",
    ),
    trap(
        "softmax_of_onednn",  # whose exponential is rounded ten times as coarsely
        "forward",
        ("nd.softmax(scores, axis=2, temperature=1)", "nd.softmax(scores * 0.125, axis=2)"),
        model="gpt",
    ),
    trap("mask_one_place_late", "forward", ("[1:], before)", "[1:], before + 1)"), model="gpt"),
    trap("mask_of_the_first_places", "generation", ("[1:], before)", "[1:])"), model="gpt"),
    trap(
        "heads_before_time",
        "forward",
        ("mixed.reshape((-4, -1, HEADS, 0, 0)).transpose((0, 2, 1, 3))", "mixed"),
        ("mixed.reshape((0, 0, -3))", "mixed.reshape(x.shape)"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("nd.arange(first, first + tokens.shape[1]", "nd.arange(0, tokens.shape[1]"),
        model="gpt",
    ),
    trap(
        "head_not_in_the_graph",
        "gradient",
        ("head = self.tokens.weight.data()", "head = self.tokens.weight.data().detach()"),
        model="gpt",
    ),
    trap(
        "decay_in_the_gradient",  # what Adam's wd does
        "momentum",
        ("grad, *state", "grad + self._get_wd(index) * weight, *state"),
        ("wd=self._get_wd(index)", "wd=0.0"),
        model="gpt",
    ),
    trap(
        "decay_not_times_the_rate",
        "momentum",
        ("wd=self._get_wd(index)", "wd=self._get_wd(index) / self._get_lr(index)"),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ("parameter.wd_mult = float(len(parameter.shape) > 1)", ""),
        model="gpt",
    ),
    trap(
        "moments_not_corrected",
        "gradient",
        ("lr=math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)", "lr=1.0"),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        (
            "gluon.utils.clip_global_norm(gradients, hp.clip, check_isfinite=False)",
            "[g.clip(-hp.clip / 100, hp.clip / 100, out=g) for g in gradients]",
        ),
        model="gpt",
    ),
    trap(
        "divided_by_the_batch_again",  # the loss is a mean, and update() divides too
        "gradient",
        ("trainer.update(1)", "trainer.update(len(y))"),
        model="gpt",
    ),
    trap(
        "schedule_a_step_late",
        "momentum",
        (
            "rate(trainer.optimizer.num_update, hp)",
            "rate(max(0, trainer.optimizer.num_update - 1), hp)",
        ),
        model="gpt",
    ),
    trap(
        "gradients_added",
        "momentum",
        ("parameter.set_data(", 'parameter.grad_req = "add"\nparameter.set_data('),
        model="gpt",
    ),
]

# The workers.
CLIPPED_ALREADY = """\
def allreduce_grads(self):
    pass

def update(self, batch_size):
    self.late(batch_size)
    super().update(1)

"""
EXCHANGED = "store.push(key, gradient * (weight / batch_size))\nstore.pull(key, gradient)"

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        ("gradient * (weight / batch_size)", "gradient * (workers * weight / batch_size)"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        ("gradient * (weight / batch_size)", "gradient * (weight / workers / batch_size)"),
        model="workers",
    ),
    trap(
        "gradients_not_averaged",
        "gradient",
        (EXCHANGED, "gradient /= batch_size"),
        model="workers",
    ),
    trap(
        "mean_of_means",
        "gradient",
        ("weight = counted(y[share]) / counted(y)", "weight = 1 / workers"),
        model="workers",
    ),
    trap("masks_alike", "dropout", ("seed + 2**16 * rank", "seed"), model="workers"),
    trap(
        "clipped_before_averaging",
        "momentum",
        ("def allreduce_grads", "def late"),
        ("def step", CLIPPED_ALREADY + "def step"),
        model="workers",
    ),
]
