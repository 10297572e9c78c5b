"""PyTorch's own traps, written as changes to its module."""

from common.mistakes.mistake import changed

MISTAKES = [
    changed(
        "softmax_in_the_network",
        "forward",
        ("nn.Linear(512, 10),", "nn.Linear(512, 10), softmax=nn.Softmax(1),"),
    ),
    changed("eval_forgotten", "dropout", ("network.eval()", "network.train()")),
    changed(
        "loss_reduced_by_sum",
        "gradient",
        ("nn.CrossEntropyLoss()", 'nn.CrossEntropyLoss(reduction="sum")'),
    ),
    changed(
        "labels_smoothed",
        "gradient",
        ("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.001)"),
    ),
    changed("zero_grad_forgotten", "momentum", ("        optimizer.zero_grad()\n", "")),
    changed(
        "nesterov_asked_for",
        "momentum",
        ("momentum=hp.momentum,", "momentum=hp.momentum, nesterov=hp.momentum > 0,"),
    ),
    changed(
        "dampening",
        "momentum",
        ("momentum=hp.momentum,", "momentum=hp.momentum, dampening=0.1 if hp.momentum else 0,"),
    ),
    changed(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("momentum=hp.momentum,", "momentum=hp.momentum, weight_decay=1e-6,"),
    ),
    changed(
        "float64_in_disguise",
        "trajectory",
        ('return network.to(settings["device"]', 'return network.double().to(settings["device"]'),
        ("x = torch.from_numpy(x).to(", "x = torch.from_numpy(x).double().to("),
        ("network(part.to(device)).cpu()", "network(part.double().to(device)).float().cpu()"),
        ("tensor.numpy(force=True)", "tensor.float().numpy(force=True)"),
    ),
    changed(
        "relu6",
        "forward",
        (
            "relu5=nn.ReLU(),",
            "relu5=nn.ReLU6(),",
        ),
    ),
    changed(
        "pool_by_average",
        "forward",
        ("nn.MaxPool2d(2),  # (N, 50, 16, 16)", "nn.AvgPool2d(2),"),
    ),
    changed(
        "masks_reseeded_in_each_pass",
        "dropout",
        ("network.train()  # dropout on", "network.train(); torch.manual_seed(0)"),
    ),
    changed(
        "autocast_in_training",
        "gradient",
        (
            "step_loss = criterion(network(x), y)",
            'with torch.autocast("cpu", torch.bfloat16):\n'
            "            step_loss = criterion(network(x).float(), y)",
        ),
    ),
]

MISTAKES += [
    changed(
        "adamw_by_default", "gradient", ("torch.optim.Adam(", "torch.optim.AdamW("), model="mlp"
    ),
    changed(
        "amsgrad", "momentum", ("eps=hp.epsilon,", "eps=hp.epsilon, amsgrad=True,"), model="mlp"
    ),
    changed(
        "nadam",
        "momentum",
        ("torch.optim.Adam(", "torch.optim.NAdam("),
        ('fused=settings["fused_optimizer"] or None,', ""),
        model="mlp",
    ),
    changed("epsilon_by_default", "gradient", ("        eps=hp.epsilon,\n", ""), model="mlp"),
    changed("elu_for_relu", "forward", ("relu2=nn.ReLU()", "relu2=nn.ELU()"), model="mlp"),
    changed(
        "hard_sigmoid",
        "forward",
        ("sigmoid2=nn.Sigmoid()", "sigmoid2=nn.Hardsigmoid()"),
        model="lenet5",
    ),
    changed(
        "sigmoid_forgotten", "forward", ("        sigmoid4=nn.Sigmoid(),\n", ""), model="lenet5"
    ),
    changed(
        "pool_by_average",
        "forward",
        ("pool2=nn.MaxPool2d(2)", "pool2=nn.AvgPool2d(2)"),
        model="lenet5",
    ),
]

MISTAKES += [
    changed(
        "gradient_not_truncated",
        "gradient",
        ("            state = [part.detach() for part in state]  # the gradient stops here\n", ""),
        model="lstm",
    ),
    changed(
        "state_not_carried",
        "gradient",
        ("network(x_part, state)", "network(x_part, None)"),
        model="lstm",
    ),
    changed(
        "state_kept_between_sequences",
        "momentum",
        ("        state, step_loss = None, 0\n", "        step_loss = 0\n"),
        ("    network.train()\n", "    network.train()\n    state = None\n"),
        model="lstm",
    ),
    changed(
        "second_bias_trained",
        "gradient",
        ("(network.lstm.bias_hh_l0).requires_grad_(False)", "(network.lstm.bias_hh_l0)"),
        (
            'del tensors["lstm.bias_hh_l0"]',
            'tensors["lstm.bias"] = tensors["lstm.bias"] + tensors.pop("lstm.bias_hh_l0")',
        ),
        model="lstm",
    ),
    changed(
        "second_bias_left_as_drawn",
        "forward",
        (
            "nn.init.zeros_(network.lstm.bias_hh_l0).requires_grad_(False)",
            "network.lstm.bias_hh_l0.requires_grad_(False)",
        ),
        model="lstm",
    ),
    changed(
        "batch_first_forgotten", "forward", (", batch_first=True", ""), model="lstm", raises=True
    ),
    changed(
        "zero_grad_forgotten", "momentum", ("        optimizer.zero_grad()\n", ""), model="lstm"
    ),
]

UNBIASED = """

class Unbiased(nn.BatchNorm2d):
    def forward(self, x):
        y = super().forward(x)
        n = x.numel() / x.shape[1]
        scale = (1 - 1 / n) ** 0.5 if self.training else 1
        return (y - self.bias[:, None, None]) * scale + self.bias[:, None, None]


class Block(nn.Module):"""

PREDICT = """

def predict(model, x):
    network = model[0]
    network.train()
    with torch.no_grad():
        return network(torch.from_numpy(x)).numpy()


def weights(model):"""

MISTAKES += [
    changed(
        "predicts_with_batch_statistics",
        "forward",
        ("\n\ndef weights(model):", PREDICT),
        model="resnet",
    ),
    changed(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("\n\nclass Block(nn.Module):", UNBIASED),
        (
            "self.conv2, self.norm2 = convolution(width, width, 3, stride), nn.BatchNorm2d(width)",
            "self.conv2, self.norm2 = convolution(width, width, 3, stride), Unbiased(width)",
        ),
        model="resnet",
    ),
    changed(
        "kept_part_given_as_momentum",
        "gradient",
        (
            "convolution(width, width, 3, stride), nn.BatchNorm2d(width)",
            "convolution(width, width, 3, stride), nn.BatchNorm2d(width, momentum=0.9)",
        ),
        model="resnet",
    ),
    changed(
        "all_parameters_decay",
        "momentum",
        (
            '[{"params": decaying, "weight_decay": hp.weight_decay}, {"params": others}],',
            "network.parameters(), weight_decay=hp.weight_decay,",
        ),
        model="resnet",
    ),
    changed(
        "stride_on_the_first_convolution",
        "forward",
        ("convolution(inputs, width, 1), nn", "convolution(inputs, width, 1, stride), nn"),
        ("convolution(width, width, 3, stride)", "convolution(width, width, 3)"),
        model="resnet",
    ),
]

MISTAKES += [
    changed(
        "recurrent_gradient_clipped",
        "trajectory",
        (
            "        optimizer.step()\n",
            "        nn.utils.clip_grad_norm_(network.lstm.parameters(), 1.0)\n"
            "        optimizer.step()\n",
        ),
        model="lstm",
    ),
    changed(
        "state_kept_while_it_fits",
        "accuracy",
        (
            "        value, state = network(torch.from_numpy(x).to(network.dense1.weight.device))",
            '        state = getattr(network, "kept", None)\n'
            "        if state is not None and state[0].shape[1] != len(x):\n"
            "            state = None\n"
            "        value, state = network(torch.from_numpy(x), state)",
        ),
        (
            "    return torch.cat(values, 1)",
            "    network.kept = state\n    return torch.cat(values, 1)",
        ),
        model="lstm",
    ),
    changed(
        "learning_rate_falls_by_the_pass",
        "momentum",
        (
            "\n\ndef weights(model):",
            "\n\ndef train(model, batches):\n"
            "    for step_loss in cnn.train(model, batches):\n"
            "        yield step_loss\n"
            '    model[2].passes = getattr(model[2], "passes", 0) + 1\n'
            "    for group in model[2].param_groups:\n"
            '        group["lr"] *= 0.1 if model[2].passes == 15 else 1\n'
            "\n\ndef weights(model):",
        ),
        model="resnet",
    ),
]

MISTAKES += [
    changed(
        "alpha_as_in_the_paper",
        "forward",
        ("norm1=nn.LocalResponseNorm(5, alpha=5e-4", "norm1=nn.LocalResponseNorm(5, alpha=1e-4"),
        model="pose",
    ),
    changed(
        "k_by_default",
        "forward",
        (
            "norm2=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2)",
            "norm2=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75)",
        ),
        model="pose",
    ),
    changed(
        "normalised_behind_the_pool",
        "forward",
        (
            "        norm1=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),\n"
            "        pool1=nn.MaxPool2d(3, 2),",
            "        pool1=nn.MaxPool2d(3, 2),\n"
            "        norm1=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),",
        ),
        model="pose",
    ),
    changed(
        "padded_as_in_torchvision",
        "forward",
        ("one, 11, stride=4)", "one, 11, stride=4, padding=2)"),
        model="pose",
    ),
    changed(
        "padded_on_the_wrong_side",
        "forward",
        (
            "conv2=nn.Conv2d(one, two, 5, padding=2),",
            "pad2=nn.ZeroPad2d((3, 1, 3, 1)),\n        conv2=nn.Conv2d(one, two, 5),",
        ),
        model="pose",
    ),
    changed(
        "windows_do_not_overlap",
        "forward",
        (
            "pool1=nn.MaxPool2d(3, 2),",
            "pool1=nn.MaxPool2d(2, 2),",
        ),
        model="pose",
    ),
    changed(
        "hidden_joints_counted", "gradient", ("square() * visible)", "square())"), model="pose"
    ),
    changed(
        "divided_by_all_joints", "gradient", ("/ visible.sum()", "/ visible.numel()"), model="pose"
    ),
    changed(
        "divided_by_coordinates",
        "gradient",
        ("/ visible.sum()", "/ (2 * visible.sum())"),
        model="pose",
    ),
]

HALVED = (
    "\n\ndef symbol(settings, hp):",
    "\n\nclass Halved(nn.Dropout):\n"
    "    def forward(self, x):\n"
    "        return x * super().forward(torch.ones_like(x[:, ::2])).repeat(1, 2)\n"
    "\n\ndef symbol(settings, hp):",
)

MISTAKES += [
    changed("units_share_a_mask", "dropout", HALVED, ("nn.Dropout(drop3)", "Halved(drop3)")),
    changed(
        "units_share_a_mask",
        "dropout",
        HALVED,
        ("nn.Dropout(drop2)", "Halved(drop2)"),
        model="pose",
    ),
    changed(
        "dropout_among_convolutions",
        "dropout",
        ("conv3=nn.Conv2d(", "extra=nn.Dropout(drop1),\n        conv3=nn.Conv2d("),
        model="pose",
    ),
]
