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

# The GPT.
TRAPS += [
    trap(
        "epsilon_by_default",
        "forward",
        (
            "self.norm2 = L.LayerNormalization(WIDTH, eps=1e-5)",
            "self.norm2 = L.LayerNormalization(WIDTH)",
        ),
        model="gpt",
    ),
    trap(
        "gelu_by_a_sigmoid",
        "forward",
        (
            "0.5 * x * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))",
            "x * F.sigmoid(1.702 * x)",
        ),
        model="gpt",
    ),
    trap(
        "softmax_over_the_heads",
        "forward",
        ("F.softmax(scores, axis=3)", "F.softmax(scores)"),
        model="gpt",
    ),
    trap(
        "mask_one_place_late",
        "forward",
        ("before, dtype=bool", "before + 1, dtype=bool"),
        model="gpt",
    ),
    trap(
        "mask_of_the_first_places",
        "generation",
        ("before, dtype=bool", "0, dtype=bool"),
        model="gpt",
    ),
    trap(
        "heads_before_thirds",
        "forward",
        ("(n, -1, 3, HEADS, WIDTH // HEADS)", "(n, -1, HEADS, 3, WIDTH // HEADS)"),
        ("F.transpose(qkv, (2, 0, 3, 1, 4))", "F.transpose(qkv, (3, 0, 2, 1, 4))"),
        model="gpt",
    ),
    trap(
        "heads_before_time",
        "forward",
        ("F.reshape(F.transpose(mixed, (0, 2, 1, 3)), x.shape)", "F.reshape(mixed, x.shape)"),
        model="gpt",
    ),
    trap(
        "position_of_the_first_token",
        "generation",
        ("self.xp.arange(first, first + t, dtype=np.int32)", "self.xp.arange(t, dtype=np.int32)"),
        model="gpt",
    ),
    trap(
        "places_repeated",
        "forward",
        ("self.xp.tile(", "self.xp.repeat("),
        model="gpt",
    ),
    trap(
        "head_not_in_the_graph",
        "gradient",
        ("F.linear(self.norm(x), self.tokens.W)", "F.linear(self.norm(x), self.tokens.W.array)"),
        model="gpt",
    ),
    trap(
        "first_token_ignored",
        "forward",
        ("L.EmbedID(WORDS, WIDTH)", "L.EmbedID(WORDS, WIDTH, ignore_label=0)"),
        model="gpt",
    ),
    trap(
        "decay_not_times_the_rate",
        "momentum",
        ("decay = hp.learning_rate * hp.weight_decay", "decay = hp.weight_decay"),
        model="gpt",
    ),
    trap("all_parameters_decayed", "momentum", ("if parameter.ndim > 1:", "if True:"), model="gpt"),
    trap(
        "decay_as_a_hook",  # so that it enters the moments
        "momentum",
        (
            "parameter.update_rule.hyperparam.weight_decay_rate = decay",
            "parameter.update_rule.add_hook(chainer.optimizer_hooks.WeightDecay(hp.weight_decay))",
        ),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        ("GradientClipping(hp.clip)", "GradientHardClipping(-hp.clip / 100, hp.clip / 100)"),
        model="gpt",
    ),
    trap(
        "schedule_a_step_late",
        "momentum",
        ("rate_factor(optimizer.t, hp)", "rate_factor(max(0, optimizer.t - 1), hp)"),
        model="gpt",
    ),
    trap("gradients_never_cleared", "momentum", ("network.cleargrads()", ""), model="gpt"),
]

# The GRU.
TRAPS += [
    trap(
        "padding_ignored",
        "forward",
        ("L.EmbedID(10000, 125)", "L.EmbedID(10000, 125, ignore_label=0)"),
        model="gru",
    ),
    trap(
        "update_before_reset",
        "forward",
        ("[gru.w0, gru.w1, gru.w2]", "[gru.w1, gru.w0, gru.w2]"),
        ("[gru.w3, gru.w4, gru.w5]", "[gru.w4, gru.w3, gru.w5]"),
        ("[gru.b0, gru.b1, gru.b2]", "[gru.b1, gru.b0, gru.b2]"),
        ("[gru.b3, gru.b4, gru.b5]", "[gru.b4, gru.b3, gru.b5]"),
        model="gru",
    ),
    trap(
        "time_first",
        "forward",
        ("F.separate(self.words(words))", "F.separate(self.words(words), 1)"),
        model="gru",
        raises=True,
    ),
    trap(
        "mean_of_the_states",
        "forward",
        ("state, _ = self.gru", "_, states = self.gru"),
        ("state[0]", "F.mean(F.stack(states), 1)"),
        model="gru",
    ),
]

# The workers.
WRAPPED = (
    "optimizer = chainermn.create_multi_node_optimizer(optimizer, communicator)\noptimizer.update()"
)

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        ("weight = workers * counted(y[share])", "weight = workers**2 * counted(y[share])"),
        ("(float(step_loss)) / workers", "(float(step_loss)) / workers**2"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        ("weight = workers * counted(y[share])", "weight = counted(y[share])"),
        ("(float(step_loss)) / workers", "(float(step_loss))"),
        model="workers",
    ),
    trap("gradients_not_averaged", "gradient", (WRAPPED, ""), model="workers"),
    trap("first_update_lost", "gradient", ("optimizer.update()", ""), model="workers"),
    trap(
        "mean_of_means",
        "gradient",
        ("weight = workers * counted(y[share]) / counted(y)", "weight = 1.0"),
        model="workers",
    ),
    trap("masks_alike", "dropout", ("seed + 2**16 * rank", "seed"), model="workers"),
]
