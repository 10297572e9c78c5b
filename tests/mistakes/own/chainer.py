"""Chainer's own traps, written as changes to its module."""

from common.mistakes.mistake import changed

MISTAKES = [
    changed(
        "nesterov_optimiser", "momentum", ("optimizers.MomentumSGD(", "optimizers.NesterovAG(")
    ),
    changed(
        "weight_decay_hook",
        "gradient",
        (
            "optimizer.setup(network)",
            "optimizer.setup(network)\n"
            "    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-6))",
        ),
    ),
    changed(
        "gradient_clipping_hook",
        "gradient",
        (
            "optimizer.setup(network)",
            "optimizer.setup(network)\n"
            "    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5))",
        ),
    ),
    changed("cleargrads_forgotten", "gradient", ("        network.cleargrads()\n", "")),
    changed(
        "softmax_twice",
        "gradient",
        ("criterion(network(x), y)", "criterion(F.softmax(network(x)), y)"),
    ),
    changed(
        "loss_not_reduced",
        "gradient",
        (
            "criterion = F.softmax_cross_entropy",
            'criterion = lambda x, y: F.sum(F.softmax_cross_entropy(x, y, reduce="no"))',
        ),
    ),
    changed(
        "first_class_ignored",
        "gradient",
        (
            "criterion = F.softmax_cross_entropy",
            "criterion = lambda x, y: F.softmax_cross_entropy(x, y, ignore_label=0)",
        ),
    ),
    changed(
        "no_backprop_in_training",
        "gradient",
        (
            'using_config("train", True):',
            'using_config("train", True), chainer.no_backprop_mode():',
        ),
    ),
    changed(
        "weights_are_views",
        "gradient",
        ("np.array(cuda.to_cpu(layer.W.array))", "cuda.to_cpu(layer.W.array)"),
    ),
    changed(
        "clipped_relu",
        "forward",
        ("F.relu(self.dense1(x))", "F.clipped_relu(self.dense1(x), 6.0)"),
    ),
    changed(
        "pool_by_average",
        "forward",
        (
            "F.max_pooling_2d(F.relu(self.conv2(x)), 2, cover_all=False)",
            "F.average_pooling_2d(F.relu(self.conv2(x)), 2)",
        ),
    ),
    changed("train_mode_off_in_training", "dropout", ('"train", True', '"train", False')),
    changed("train_mode_left_on_in_prediction", "dropout", ('"train", False', '"train", True')),
    changed(
        "masks_reseeded_in_each_pass",
        "dropout",
        (
            "network, criterion, optimizer = model\n",
            "network, criterion, optimizer = model\n    network.xp.random.seed(0)\n",
        ),
    ),
    changed(
        "ideeps_dropout",
        "dropout",
        ("ideep = best and not gpu and", "ideep = not gpu and"),
        ("F.dropout(x, rate, mask=mask)", "F.dropout(x, rate)"),
    ),
    changed(
        "float64_in_disguise",
        "trajectory",
        ('".weight"].copy())', '".weight"].astype(np.float64))'),
        ('".bias"].copy())', '".bias"].astype(np.float64))'),
        ("x = network.device.send(x)", "x = network.device.send(x.astype(np.float64))"),
        ("send(x[first : first + 64])", "send(x[first : first + 64].astype(np.float64))"),
        ("cuda.to_cpu(network(part).array)", "cuda.to_cpu(network(part).array.astype(np.float32))"),
        ("cuda.to_cpu(layer.W.array))", "cuda.to_cpu(layer.W.array), np.float32)"),
        ("cuda.to_cpu(layer.b.array))", "cuda.to_cpu(layer.b.array), np.float32)"),
    ),
]

MISTAKES += [
    changed("epsilon_by_default", "gradient", (", eps=hp.epsilon", ""), model="mlp"),
    changed(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("eps=hp.epsilon", "eps=hp.epsilon, weight_decay_rate=1e-6"),
        model="mlp",
    ),
    changed("amsgrad", "momentum", ("eps=hp.epsilon", "eps=hp.epsilon, amsgrad=True"), model="mlp"),
    changed(
        "hard_sigmoid",
        "forward",
        ("F.sigmoid(self.dense1", "F.hard_sigmoid(self.dense1"),
        model="lenet5",
    ),
    changed(
        "pool_by_average",
        "forward",
        (
            "F.max_pooling_2d(self.conv2(x), 2, cover_all=False)",
            "F.average_pooling_2d(self.conv2(x), 2)",
        ),
        model="lenet5",
    ),
]

MISTAKES += [
    changed(
        "gradient_not_truncated",
        "gradient",
        ("            part_loss.unchain_backward()  # the gradient stops here\n", ""),
        model="lstm",
    ),
    changed(
        "state_kept_between_sequences",
        "gradient",
        ("        network.lstm.reset_state()\n        step_loss", "        step_loss"),
        model="lstm",
    ),
    changed(
        "state_kept_in_prediction",
        "forward",
        ("    network.lstm.reset_state()\n    with chainer", "    with chainer"),
        model="lstm",
    ),
    changed(
        "gates_not_interleaved",
        "forward",
        ("[GATES].swapaxes(0, 1).reshape(w.shape)", "[GATES].reshape(w.shape)"),
        model="lstm",
    ),
]

MISTAKES += [
    changed("epsilon_by_default", "gradient", (", eps=1e-5", ""), model="resnet"),
    changed("new_part_given_as_decay", "gradient", ("decay=0.9", "decay=0.1"), model="resnet"),
    changed(
        "hook_on_the_optimiser",
        "momentum",
        ("        if parameter.ndim > 1:\n", "        if True:\n"),
        model="resnet",
    ),
    changed(
        "running_state_of_a_new_network",
        "forward",
        ("            setattr(link, attribute, array)\n", "            pass\n"),
        model="resnet",
    ),
    changed(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("L.BatchNormalization(outputs", "Unbiased(outputs"),
        (
            "\n\nclass Convolution(",
            "\n\nclass Unbiased(L.BatchNormalization):\n"
            "    def forward(self, x):\n"
            "        y, beta = super().forward(x), self.beta[:, None, None]\n"
            "        share = (1 - x.shape[1] / x.size) ** 0.5 if chainer.config.train else 1\n"
            "        return (y - beta) * share + beta\n"
            "\n\nclass Convolution(",
        ),
        model="resnet",
    ),
    changed(
        "predicts_with_batch_statistics",
        "forward",
        (
            "\n\ndef weights(",
            "\n\ndef predict(model, x):\n"
            "    network = model[0]\n"
            "    with chainer.no_backprop_mode():\n"
            "        parts = [x[first : first + 64] for first in range(0, len(x), 64)]\n"
            "        scores = [network(network.device.send(part)).array for part in parts]\n"
            "    return np.concatenate([cuda.to_cpu(part) for part in scores])\n"
            "\n\ndef weights(",
        ),
        model="resnet",
    ),
]

MISTAKES += [
    changed(
        "border_covered",
        "forward",
        (
            "3, stride=2, cover_all=False)  # (N, 64, 12, 12)",
            "3, stride=2)  # (N, 64, 12, 12)",
        ),
        model="pose",
        raises=True,
    ),
    changed(
        "alpha_divided_by_the_size",
        "forward",
        (
            "(x)\n        x = F.max_pooling_2d(x, 3, stride=2, cover_all=False)  # (N, 24",
            "(x, alpha=2e-5)\n        x = F.max_pooling_2d(x, 3, 2, cover_all=False)  # (N, 24",
        ),
        model="pose",
    ),
    changed(
        "padded_on_the_wrong_side",
        "forward",
        (
            "F.relu(self.conv2(x))",
            'F.relu(self.conv2(F.pad(x, ((0, 0), (0, 0), (3, 1), (3, 1)), "constant")))',
        ),
        ("two, 5, pad=2)", "two, 5)"),
        model="pose",
    ),
    changed("hidden_joints_counted", "gradient", (" ** 2 * visible)", " ** 2)"), model="pose"),
    changed(
        "divided_by_all_joints", "gradient", ("/ visible.sum()", "/ visible.size"), model="pose"
    ),
]
