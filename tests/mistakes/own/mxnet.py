"""Gluon's own traps, written as changes to MXNet's module."""

from common.mistakes.mistake import changed

LOSS = "criterion(nd.log_softmax(network(x), temperature=1), y)"


def with_option(name, rung, option):
    """A mistake that is an option of the optimiser."""
    return changed(
        name, rung, ('"momentum": hp.momentum}', '"momentum": hp.momentum, %s}' % option)
    )


MISTAKES = [
    changed(
        "relu_with_a_ceiling",
        "forward",
        (
            "nn.MaxPool2D(2),  # (N, 50, 16, 16)",
            "nn.MaxPool2D(2),\n        nn.HybridLambda(lambda F, x: F.clip(x, 0, 6)),",
        ),
    ),
    changed(
        "pool_by_average",
        "forward",
        ("nn.MaxPool2D(2),  # (N, 50, 16, 16)", "nn.AvgPool2D(2),"),
    ),
    changed("from_logits_in_the_sense_of_keras", "gradient", (LOSS, "criterion(network(x), y)")),
    changed("rescaling_forgotten", "gradient", ("trainer.step(len(y))", "trainer.step(1)")),
    changed(
        "divided_by_the_batch_size_twice",
        "gradient",
        (LOSS, LOSS + ".mean()"),
    ),
    changed(
        "gradients_added_up",
        "momentum",
        (
            "    trainer = gluon.Trainer(",
            '    network.collect_params().setattr("grad_req", "add")\n    trainer = gluon.Trainer(',
        ),
    ),
    changed(
        "probability_clipped_in_the_loss",
        "gradient",
        (LOSS, "nd.softmax_cross_entropy(network(x), y)"),
        ("yield losses.mean()", "yield (losses.mean() / len(y))"),
    ),
    with_option("weight_decay_in_the_optimiser", "gradient", '"wd": 1e-6'),
    with_option("gradients_clipped", "gradient", '"clip_gradient": 1.0'),
    changed("nesterov_asked_for", "momentum", ('parameters, "sgd"', 'parameters, "nag"')),
    changed(
        "trainer_made_in_each_pass",
        "momentum",
        (
            "    device = network[-1].weight.list_ctx()[0]\n    for x, y in batches:",
            "    device = network[-1].weight.list_ctx()[0]\n"
            '    options = {k: getattr(trainer.optimizer, k) for k in ("lr", "momentum")}\n'
            '    options["learning_rate"] = options.pop("lr")\n'
            '    trainer = gluon.Trainer(network.collect_params(), "sgd", options)\n'
            "    for x, y in batches:",
        ),
    ),
    changed(
        "training_mode_forgotten",
        "dropout",
        ("autograd.record():  #", "autograd.record(train_mode=False):  #"),
    ),
    changed(
        "dropout_in_prediction",
        "dropout",
        (
            "return np.concatenate([network(part)",
            "with autograd.train_mode():\n        return np.concatenate([network(part)",
        ),
    ),
    changed(
        "one_mask_for_all_channels",
        "dropout",
        ("nn.Dropout(drop2)", "nn.Dropout(drop2, axes=(1,))"),
    ),
    changed(
        "reseeded_in_each_pass",
        "dropout",
        (
            "    network, criterion, trainer = model\n",
            "    network, criterion, trainer = model\n    mx.random.seed(0)\n",
        ),
    ),
    changed(
        "among_the_five_highest",
        "accuracy",
        ("mx.metric.Accuracy()", "mx.metric.TopKAccuracy(5)"),
    ),
]

MISTAKES += [
    changed("epsilon_by_default", "gradient", (', "epsilon": hp.epsilon', ""), model="mlp"),
    changed(
        "weight_decay_in_the_optimiser",
        "gradient",
        ('"epsilon": hp.epsilon', '"epsilon": hp.epsilon, "wd": 1e-4'),
        model="mlp",
    ),
    changed(
        "adamax", "gradient", (', "epsilon": hp.epsilon', ""), ('"adam"', '"adamax"'), model="mlp"
    ),
    changed(
        "softsign_for_sigmoid",
        "forward",
        ('in_units=480, activation="sigmoid"', 'in_units=480, activation="softsign"'),
        model="lenet5",
    ),
    changed(
        "pool_by_average",
        "forward",
        ("nn.MaxPool2D(2),  # (N, 16, 5, 5)", "nn.AvgPool2D(2),"),
        model="lenet5",
    ),
]

MISTAKES += [
    changed(
        "gradient_not_truncated",
        "gradient",
        ("                h, c = h.detach(), c.detach()  # the gradient stops here\n", ""),
        model="lstm",
    ),
    changed(
        "half_of_the_squared_error", "gradient", ("L2Loss(weight=2)", "L2Loss()"), model="lstm"
    ),
    changed(
        "second_bias_trained",
        "gradient",
        ('    network.lstm.l0_h2h_bias.grad_req = "null"\n', ""),
        (
            '    del parameters["lstm_l0_h2h_bias"]\n    return {',
            '    second = parameters.pop("lstm_l0_h2h_bias").data().asnumpy()\n    found = {',
        ),
        (
            "        for name, parameter in parameters.items()\n    }\n",
            "        for name, parameter in parameters.items()\n    }\n"
            '    return dict(found, **{"lstm.bias": found["lstm.bias"] + second})\n',
        ),
        model="lstm",
    ),
    changed(
        "time_first",
        "forward",
        ('layout="NTC", input_size', "input_size"),
        model="lstm",
        raises=True,
    ),
    changed(
        "state_kept_between_sequences",
        "momentum",
        ("    for x, y in batches:\n", "    h = c = None\n    for x, y in batches:\n"),
        (
            "        h, c = network.lstm.begin_state(len(x), ctx=device)  # (1, N, 5) each\n",
            "        if h is None:\n"
            "            h, c = network.lstm.begin_state(len(x), ctx=device)\n",
        ),
        model="lstm",
    ),
]
