"""Chainer's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap("nesterov_optimiser", "momentum", ("optimizers.MomentumSGD(", "optimizers.NesterovAG(")),
    trap(
        "weight_decay_hook",
        "gradient",
        (
            "optimizer.setup(network)",
            "optimizer.setup(network)\n"
            "optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-6))",
        ),
    ),
    trap(
        "gradient_clipping_hook",
        "gradient",
        (
            "optimizer.setup(network)",
            "optimizer.setup(network)\n"
            "optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(5))",
        ),
    ),
    trap("cleargrads_forgotten", "gradient", ("network.cleargrads()", "")),
    trap(
        "softmax_twice",
        "gradient",
        ("criterion(network(x), y)", "criterion(F.softmax(network(x)), y)"),
    ),
    trap(
        "loss_not_reduced",
        "gradient",
        (
            "criterion = F.softmax_cross_entropy",
            'criterion = lambda x, y: F.sum(F.softmax_cross_entropy(x, y, reduce="no"))',
        ),
    ),
    trap(
        "first_class_ignored",
        "gradient",
        (
            "criterion = F.softmax_cross_entropy",
            "criterion = lambda x, y: F.softmax_cross_entropy(x, y, ignore_label=0)",
        ),
    ),
    trap(
        "no_backprop_in_training",
        "gradient",
        (
            'using_config("train", True):',
            'using_config("train", True), chainer.no_backprop_mode():',
        ),
    ),
    trap(
        "weights_are_views",
        "gradient",
        ("np.array(cuda.to_cpu(layer.W.array))", "cuda.to_cpu(layer.W.array)"),
    ),
    trap(
        "clipped_relu", "forward", ("F.relu(self.dense1(x))", "F.clipped_relu(self.dense1(x), 6.0)")
    ),
    trap(
        "pool_by_average",
        "forward",
        (
            "F.max_pooling_2d(F.relu(self.conv2(x)), 2, cover_all=False)",
            "F.average_pooling_2d(F.relu(self.conv2(x)), 2)",
        ),
    ),
    trap("train_mode_off_in_training", "dropout", ('"train", True', '"train", False')),
    trap("train_mode_left_on_in_prediction", "dropout", ('"train", False', '"train", True')),
    trap(
        "masks_reseeded_in_each_pass",
        "dropout",
        ("for x, y in batches:", "network.xp.random.seed(0)\nfor x, y in batches:"),
    ),
    trap(
        "ideeps_dropout",
        "dropout",
        ("best and", ""),
        ("F.dropout(x, rate, mask=mask)", "F.dropout(x, rate)"),
    ),
    trap(
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

TRAPS += [
    trap("epsilon_by_default", "gradient", (", eps=hp.epsilon", ""), model="mlp"),
    trap(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("eps=hp.epsilon", "eps=hp.epsilon, weight_decay_rate=1e-6"),
        model="mlp",
    ),
    trap("amsgrad", "momentum", ("eps=hp.epsilon", "eps=hp.epsilon, amsgrad=True"), model="mlp"),
    trap(
        "hard_sigmoid",
        "forward",
        ("F.sigmoid(self.dense1", "F.hard_sigmoid(self.dense1"),
        model="lenet5",
    ),
    trap(
        "pool_by_average",
        "forward",
        (
            "F.max_pooling_2d(self.conv2(x), 2, cover_all=False)",
            "F.average_pooling_2d(self.conv2(x), 2)",
        ),
        model="lenet5",
    ),
]

TRAPS += [
    trap("gradient_not_truncated", "gradient", ("part_loss.unchain_backward()", ""), model="lstm"),
    trap(
        "state_kept_between_sequences",
        "gradient",
        ("network.lstm.reset_state()\nstep_loss", "step_loss"),
        model="lstm",
    ),
    trap(
        "state_kept_in_prediction",
        "forward",
        ("network.lstm.reset_state()\nwith", "with"),
        model="lstm",
    ),
    trap(
        "gates_not_interleaved",
        "forward",
        ("[GATES].swapaxes(0, 1).reshape(w.shape)", "[GATES].reshape(w.shape)"),
        model="lstm",
    ),
]

TRAPS += [
    trap("epsilon_by_default", "gradient", (", eps=1e-5", ""), model="resnet"),
    trap("new_part_given_as_decay", "gradient", ("decay=0.9", "decay=0.1"), model="resnet"),
    trap(
        "hook_on_the_optimiser", "momentum", ("if parameter.ndim > 1:", "if True:"), model="resnet"
    ),
    trap(
        "running_state_of_a_new_network",
        "forward",
        ("setattr(link, attribute, array)", "pass"),
        model="resnet",
    ),
    trap(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("L.BatchNormalization(outputs", "Unbiased(outputs"),
        (
            "class Convolution(",
            "class Unbiased(L.BatchNormalization):\n"
            "    def forward(self, x):\n"
            "        y, beta = super().forward(x), self.beta[:, None, None]\n"
            "        share = (1 - x.shape[1] / x.size) ** 0.5 if chainer.config.train else 1\n"
            "        return (y - beta) * share + beta\n\n\n"
            "class Convolution(",
        ),
        model="resnet",
    ),
    trap(
        "predicts_with_batch_statistics",
        "forward",
        (
            "def weights(",
            "def predict(model, x):\n"
            "    network = model[0]\n"
            "    with chainer.no_backprop_mode():\n"
            "        parts = [x[first : first + 64] for first in range(0, len(x), 64)]\n"
            "        scores = [network(network.device.send(part)).array for part in parts]\n"
            "    return np.concatenate([cuda.to_cpu(part) for part in scores])\n\n\n"
            "def weights(",
        ),
        model="resnet",
    ),
]

TRAPS += [
    trap(
        "border_covered",
        "forward",
        ("cover_all=False)\nx = F.relu(self.conv3(x))", ")\nx = F.relu(self.conv3(x))"),
        model="pose",
        raises=True,
    ),
    trap(
        "alpha_divided_by_the_size",
        "forward",
        (
            "self.conv1(x))\nx = F.local_response_normalization(x)",
            "self.conv1(x))\nx = F.local_response_normalization(x, alpha=2e-5)",
        ),
        model="pose",
    ),
    trap(
        "padded_on_the_wrong_side",
        "forward",
        (
            "F.relu(self.conv2(x))",
            'F.relu(self.conv2(F.pad(x, ((0, 0), (0, 0), (3, 1), (3, 1)), "constant")))',
        ),
        ("middle, 5, pad=2)", "middle, 5)"),
        model="pose",
    ),
    trap("hidden_joints_counted", "gradient", ("** 2 * visible)", "** 2)"), model="pose"),
    trap("divided_by_all_joints", "gradient", ("/ visible.sum()", "/ visible.size"), model="pose"),
]
