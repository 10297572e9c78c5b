"""PyTorch's traps, as patches of its modules."""

from frameworks.variants import trap

TRAPS = [
    trap(
        "softmax_in_the_network",
        "forward",
        ("nn.Linear(512, 10),", "nn.Linear(512, 10), softmax=nn.Softmax(1),"),
    ),
    trap("eval_forgotten", "dropout", ("network.eval()", "network.train()")),
    trap(
        "loss_reduced_by_sum",
        "gradient",
        ("nn.CrossEntropyLoss()", 'nn.CrossEntropyLoss(reduction="sum")'),
    ),
    trap(
        "labels_smoothed",
        "gradient",
        ("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.001)"),
    ),
    trap("zero_grad_forgotten", "momentum", ("optimizer.zero_grad()", "")),
    trap(
        "nesterov_asked_for",
        "momentum",
        ("momentum=hp.momentum,", "momentum=hp.momentum, nesterov=hp.momentum > 0,"),
    ),
    trap(
        "dampening",
        "momentum",
        ("momentum=hp.momentum,", "momentum=hp.momentum, dampening=0.1 if hp.momentum else 0,"),
    ),
    trap(
        "weight_decay_in_the_optimiser",
        "gradient",
        ("momentum=hp.momentum,", "momentum=hp.momentum, weight_decay=1e-6,"),
    ),
    trap(
        "float64_in_disguise",
        "trajectory",
        ('return network.to(settings["device"]', 'return network.double().to(settings["device"]'),
        ("x = torch.from_numpy(x).to(", "x = torch.from_numpy(x).double().to("),
        ("network(part.to(device)).cpu()", "network(part.double().to(device)).float().cpu()"),
        ("tensor.numpy(force=True)", "tensor.float().numpy(force=True)"),
    ),
    trap("relu6", "forward", ("relu5=nn.ReLU(),", "relu5=nn.ReLU6(),")),
    trap("pool_by_average", "forward", ("pool1=nn.MaxPool2d(2)", "pool1=nn.AvgPool2d(2)")),
    trap(
        "functional_dropout_stays_on",  # it is on by default, whatever the network's mode
        "dropout",
        ("drop3=nn.Dropout(drop3)", "drop3=Dropout(drop3)"),
        (
            "def symbol(settings, hp):",
            "class Dropout(nn.Dropout):\n"
            "    def forward(self, x):\n"
            "        return nn.functional.dropout(x, self.p)\n"
            "\n"
            "\n"
            "def symbol(settings, hp):",
        ),
    ),
    trap(
        "masks_reseeded_in_each_pass",
        "dropout",
        ("network.train()", "network.train(); torch.manual_seed(0)"),
    ),
    trap(
        "autocast_in_training",
        "gradient",
        (
            "step_loss = criterion(network(x), y)",
            'with torch.autocast("cpu", torch.bfloat16):\n'
            "    step_loss = criterion(network(x).float(), y)",
        ),
    ),
]

TRAPS += [
    trap("adamw_by_default", "gradient", ("torch.optim.Adam(", "torch.optim.AdamW("), model="mlp"),
    trap("amsgrad", "momentum", ("eps=hp.epsilon,", "eps=hp.epsilon, amsgrad=True,"), model="mlp"),
    trap(
        "nadam",
        "momentum",
        ("torch.optim.Adam(", "torch.optim.NAdam("),
        ('fused=settings["fused_optimizer"] or None,', ""),
        model="mlp",
    ),
    trap("epsilon_by_default", "gradient", ("eps=hp.epsilon,", ""), model="mlp"),
    trap("elu_for_relu", "forward", ("relu2=nn.ReLU()", "relu2=nn.ELU()"), model="mlp"),
    trap(
        "hard_sigmoid",
        "forward",
        ("sigmoid2=nn.Sigmoid()", "sigmoid2=nn.Hardsigmoid()"),
        model="lenet5",
    ),
    trap("sigmoid_forgotten", "forward", ("sigmoid4=nn.Sigmoid(),", ""), model="lenet5"),
    trap(
        "pool_by_average",
        "forward",
        ("pool2=nn.MaxPool2d(2)", "pool2=nn.AvgPool2d(2)"),
        model="lenet5",
    ),
]

TRAPS += [
    trap(
        "gradient_not_truncated",
        "gradient",
        ("state = [part.detach() for part in state]", ""),
        model="lstm",
    ),
    trap(
        "state_not_carried",
        "gradient",
        ("network(x_part, state)", "network(x_part, None)"),
        model="lstm",
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
        ("(network.lstm.bias_hh_l0).requires_grad_(False)", "(network.lstm.bias_hh_l0)"),
        (
            'del tensors["lstm.bias_hh_l0"]',
            'tensors["lstm.bias"] = tensors["lstm.bias"] + tensors.pop("lstm.bias_hh_l0")',
        ),
        model="lstm",
    ),
    trap(
        "second_bias_left_as_drawn",
        "forward",
        (
            "nn.init.zeros_(network.lstm.bias_hh_l0).requires_grad_(False)",
            "network.lstm.bias_hh_l0.requires_grad_(False)",
        ),
        model="lstm",
    ),
    trap("batch_first_forgotten", "forward", (", batch_first=True", ""), model="lstm", raises=True),
    trap("zero_grad_forgotten", "momentum", ("optimizer.zero_grad()", ""), model="lstm"),
]

UNBIASED = """class Unbiased(nn.BatchNorm2d):
    def forward(self, x):
        y = super().forward(x)
        n = x.numel() / x.shape[1]
        scale = (1 - 1 / n) ** 0.5 if self.training else 1
        return (y - self.bias[:, None, None]) * scale + self.bias[:, None, None]


class Block(nn.Module):"""

PREDICT = """def predict(model, x):
    network = model[0]
    network.train()
    with torch.no_grad():
        return network(torch.from_numpy(x)).numpy()


def weights(model):"""

TRAPS += [
    trap(
        "predicts_with_batch_statistics",
        "forward",
        ("def weights(model):", PREDICT),
        model="resnet",
    ),
    trap(
        "variance_divided_by_n_minus_1",
        "gradient",
        ("class Block(nn.Module):", UNBIASED),
        ("3, stride), nn.BatchNorm2d", "3, stride), Unbiased"),
        model="resnet",
    ),
    trap(
        "kept_part_given_as_momentum",
        "gradient",
        (
            "convolution(width, width, 3, stride), nn.BatchNorm2d(width)",
            "convolution(width, width, 3, stride), nn.BatchNorm2d(width, momentum=0.9)",
        ),
        model="resnet",
    ),
    trap(
        "all_parameters_decay",
        "momentum",
        (
            '[{"params": decaying, "weight_decay": hp.weight_decay}, {"params": others}],',
            "network.parameters(), weight_decay=hp.weight_decay,",
        ),
        model="resnet",
    ),
    trap(
        "stride_on_the_first_convolution",
        "forward",
        ("convolution(inputs, width, 1), nn", "convolution(inputs, width, 1, stride), nn"),
        ("convolution(width, width, 3, stride)", "convolution(width, width, 3)"),
        model="resnet",
    ),
]

TRAPS += [
    trap(
        "recurrent_gradient_clipped",
        "trajectory",
        (
            "optimizer.step()",
            "nn.utils.clip_grad_norm_(network.lstm.parameters(), 1.0)\noptimizer.step()",
        ),
        model="lstm",
    ),
    trap(
        "state_kept_while_it_fits",
        "accuracy",
        (
            "value, state = network(torch.from_numpy(x).to(network.dense1.weight.device))",
            'state = getattr(network, "kept", None)\n'
            "if state is not None and state[0].shape[1] != len(x):\n"
            "    state = None\n"
            "value, state = network(torch.from_numpy(x), state)",
        ),
        ("return torch.cat(values, 1)", "network.kept = state\nreturn torch.cat(values, 1)"),
        model="lstm",
    ),
    trap(
        "learning_rate_falls_by_the_pass",
        "momentum",
        (
            "def weights(model):",
            "def train(model, batches):\n"
            "    for step_loss in cnn.train(model, batches):\n"
            "        yield step_loss\n"
            '    model[2].passes = getattr(model[2], "passes", 0) + 1\n'
            "    for group in model[2].param_groups:\n"
            '        group["lr"] *= 0.1 if model[2].passes == 15 else 1\n\n\n'
            "def weights(model):",
        ),
        model="resnet",
    ),
]

TRAPS += [
    trap(
        "alpha_as_in_the_paper",
        "forward",
        ("norm1=nn.LocalResponseNorm(5, alpha=5e-4", "norm1=nn.LocalResponseNorm(5, alpha=1e-4"),
        model="pose",
    ),
    trap(
        "k_by_default",
        "forward",
        (
            "norm2=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2)",
            "norm2=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75)",
        ),
        model="pose",
    ),
    trap(
        "normalised_behind_the_pool",
        "forward",
        (
            "norm1=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),\n"
            "    pool1=nn.MaxPool2d(3, 2),",
            "pool1=nn.MaxPool2d(3, 2),\n"
            "    norm1=nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2),",
        ),
        model="pose",
    ),
    trap(
        "padded_as_in_torchvision",
        "forward",
        ("small, 11, stride=4)", "small, 11, stride=4, padding=2)"),
        model="pose",
    ),
    trap(
        "padded_on_the_wrong_side",
        "forward",
        (
            "conv2=nn.Conv2d(small, middle, 5, padding=2),",
            "pad2=nn.ZeroPad2d((3, 1, 3, 1)),\n    conv2=nn.Conv2d(small, middle, 5),",
        ),
        model="pose",
    ),
    trap(
        "windows_do_not_overlap",
        "forward",
        ("pool1=nn.MaxPool2d(3, 2),", "pool1=nn.MaxPool2d(2, 2),"),
        model="pose",
    ),
    trap("hidden_joints_counted", "gradient", ("square() * visible)", "square())"), model="pose"),
    trap(
        "divided_by_all_joints", "gradient", ("/ visible.sum()", "/ visible.numel()"), model="pose"
    ),
    trap(
        "divided_by_coordinates",
        "gradient",
        ("/ visible.sum()", "/ (2 * visible.sum())"),
        model="pose",
    ),
]

HALVED = (
    "def symbol(",
    "class Halved(nn.Dropout):\n"
    "    def forward(self, x):\n"
    "        return x * super().forward(torch.ones_like(x[:, ::2])).repeat(1, 2)\n"
    "\n\ndef symbol(",
)

TRAPS += [
    trap("units_share_a_mask", "dropout", HALVED, ("nn.Dropout(drop3)", "Halved(drop3)")),
    trap(
        "units_share_a_mask",
        "dropout",
        HALVED,
        ("nn.Dropout(drop2)", "Halved(drop2)"),
        model="pose",
    ),
    trap(
        "dropout_among_convolutions",
        "dropout",
        ("conv3=nn.Conv2d(", "extra=nn.Dropout(drop1),\n    conv3=nn.Conv2d("),
        model="pose",
    ),
]

SHORT_VELOCITY = """def loss(network, settings, hp, weights):
    model = module.loss(network, settings, hp, weights)

    def cut(optimizer, *_):
        for state in optimizer.state.values():
            if state.get("momentum_buffer") is not None:
                state["momentum_buffer"] = state["momentum_buffer"].bfloat16().float()

    model[2].register_step_post_hook(cut)
    return model

return dict(configure=configure, symbol=symbol, loss=loss)"""

TRAPS += [
    trap(
        "not_in_force",
        "forward",
        ("torch.bfloat16)(", "torch.bfloat16, enabled=False)("),
        model="bf16",
    ),
    trap("float16", "forward", ("torch.bfloat16)(", "torch.float16)("), model="bf16"),
    trap(
        "weights_too",
        "data",
        ("module.symbol(settings, hp)", "module.symbol(settings, hp).bfloat16()"),
        model="bf16",
    ),
    trap(
        "loss_too",
        "trajectory",
        ("scores: scores.float()", "scores: scores if network.training else scores.float()"),
        model="bf16",
    ),
    trap(
        "velocity_too",
        "gradient",
        ("return dict(configure=configure, symbol=symbol)", SHORT_VELOCITY),
        model="bf16",
    ),
]

HEAD_LEFT_OUT = (  # of the weights, which have the tied one once
    "return {name: w.numpy(force=True).copy() for name, w in parameters}",
    "copies = {name: w.numpy(force=True).copy() for name, w in parameters}\n"
    'copies.pop("head.weight")\n'
    "return copies",
)

TRAPS += [
    # The GPT.
    trap("gelu_exact", "forward", ('approximate="tanh"', 'approximate="none"'), model="gpt"),
    trap(
        "epsilon_of_bert",
        "forward",
        ("self.norm2 = nn.LayerNorm(WIDTH)", "self.norm2 = nn.LayerNorm(WIDTH, 1e-12)"),
        model="gpt",
    ),
    trap(
        "mask_forgotten",
        "forward",
        ("is_causal=cache is None", "is_causal=False"),
        model="gpt",
    ),
    trap(
        "causal_in_generation_too",
        "generation",
        ("is_causal=cache is None", "is_causal=True"),
        model="gpt",
    ),
    trap(
        "positions_not_offset_by_the_cache",
        "generation",
        ("torch.arange(first, first + tokens.shape[1]", "torch.arange(0, tokens.shape[1]"),
        model="gpt",
    ),
    trap(
        "heads_before_thirds",
        "forward",
        ("view(n, t, 3, HEADS, -1)", "view(n, t, HEADS, 3, -1).transpose(2, 3)"),
        model="gpt",
    ),
    trap(
        "normalised_after_the_sum",
        "forward",
        (
            "mixed, cache = self.attention(self.norm1(x), cache)",
            "mixed, cache = self.attention(x, cache)",
        ),
        ("x = x + mixed", "x = self.norm1(x + mixed)"),
        model="gpt",
    ),
    trap(
        "last_normalisation_forgotten",
        "forward",
        ("self.head(self.norm(x))", "self.head(x)"),
        model="gpt",
    ),
    trap(
        "head_not_tied",
        "gradient",
        (
            "self.head.weight = self.tokens.weight",
            "self.head.weight.data = self.tokens.weight.data.clone()",
        ),
        HEAD_LEFT_OUT,
        model="gpt",
    ),
    trap(
        "head_left_as_drawn",
        "forward",
        ("self.head.weight = self.tokens.weight", "pass"),
        (
            'network.load_state_dict(dict(tensors, **{"head.weight": tensors["tokens.weight"]}))',
            "network.load_state_dict(tensors, strict=False)",
        ),
        HEAD_LEFT_OUT,
        model="gpt",
    ),
    trap(  # numbers are added to the scores, True and False choose
        "mask_of_ones_and_zeros",
        "forward",
        (
            "is_causal=cache is None",
            "attn_mask=torch.ones(t, k.shape[2]).tril(k.shape[2] - t)",
        ),
        model="gpt",
    ),
    trap(
        "gradient_of_the_embedding_lost",
        "gradient",
        ("self.tokens(tokens) + self.positions", "self.tokens(tokens).detach() + self.positions"),
        model="gpt",
    ),
    trap(
        "all_parameters_decayed",
        "momentum",
        ('"weight_decay": 0.0', '"weight_decay": hp.weight_decay'),
        model="gpt",
    ),
    trap(
        "adam_with_l2",
        "momentum",
        ("torch.optim.AdamW(", "torch.optim.Adam("),
        model="gpt",
    ),
    trap(
        "clipped_after_the_step",
        "momentum",
        ("nn.utils.clip_grad_norm_(network.parameters(), clip)", ""),
        (
            "schedule.step()",
            "nn.utils.clip_grad_norm_(network.parameters(), clip)\nschedule.step()",
        ),
        model="gpt",
    ),
    trap(
        "clipped_by_value",
        "momentum",
        (
            "clip_grad_norm_(network.parameters(), clip)",
            "clip_grad_value_(network.parameters(), clip / 100)",
        ),
        model="gpt",
    ),
    trap(
        "schedule_before_the_step",
        "momentum",
        ("optimizer.step()\nschedule.step()", "schedule.step()\noptimizer.step()"),
        model="gpt",
    ),
    trap(
        "tied_weight_clipped_twice",
        "momentum",
        (
            "clip_grad_norm_(network.parameters(), clip)",
            "clip_grad_norm_([*network.parameters(), network.head.weight], clip)",
        ),
        model="gpt",
    ),
    trap(
        "loss_over_time_first",
        "gradient",
        (
            "criterion(scores.flatten(0, 1), y.flatten())",
            "criterion(scores.flatten(0, 1), y.T.flatten())",
        ),
        model="gpt",
    ),
    # The Llama.
    trap(
        "epsilon_of_the_default",
        "forward",
        ("self.norm2 = nn.RMSNorm(WIDTH, eps=EPSILON)", "self.norm2 = nn.RMSNorm(WIDTH)"),
        model="llama",
    ),
    trap(
        "base_of_llama_3",
        "forward",
        ("10000", "500000"),
        model="llama",
    ),
    trap(
        "neighbours_rotated",
        "forward",
        ("left, right = x.chunk(2, -1)", "left, right = x[..., 0::2], x[..., 1::2]"),
        (
            "return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)",
            "pairs = [left * cos - right * sin, right * cos + left * sin]\n"
            "return torch.stack(pairs, -1).flatten(-2)",
        ),
        model="llama",
    ),
    trap(
        "rotated_backwards",
        "forward",
        ("angles.sin()", "-angles.sin()"),
        model="llama",
    ),
    trap(
        "angles_in_bfloat16",
        "forward",
        ("angles = torch.outer(", "angles = torch.Tensor.bfloat16(torch.outer("),
        ("device=x.device), frequencies)", "device=x.device), frequencies)).float()"),
        model="llama",
    ),
    trap(
        "rotation_restarts_in_generation",
        "generation",
        ("first = 0 if cache is None else cache[0].shape[2]", "first = 0"),
        model="llama",
    ),
    trap(
        "padding_counts",
        "gradient",
        (
            "nn.CrossEntropyLoss(ignore_index=-100)",
            "lambda scores, y: F.cross_entropy(scores, y.clamp(min=0))",
        ),
        model="llama",
    ),
    trap(
        "mean_over_all_places",
        "gradient",
        (
            "nn.CrossEntropyLoss(ignore_index=-100)",
            'lambda scores, y: nn.functional.cross_entropy(scores, y, reduction="none").mean()',
        ),
        model="llama",
    ),
    trap(
        "gelu_for_silu", "forward", ("F.silu(self.gate(x))", "F.gelu(self.gate(x))"), model="llama"
    ),
    trap(
        "gate_and_up_exchanged",
        "forward",
        ("F.silu(self.gate(x)) * self.up(x)", "F.silu(self.up(x)) * self.gate(x)"),
        model="llama",
    ),
    # The GRU.
    trap(
        "padding_index",
        "gradient",
        ("nn.Embedding(10000, 125)", "nn.Embedding(10000, 125, padding_idx=0)"),
        model="gru",
    ),
    trap(
        "time_first",
        "forward",
        ("nn.GRU(125, 100, batch_first=True)", "nn.GRU(125, 100)"),
        model="gru",
        raises=True,
    ),
    trap(
        "mean_of_the_states",
        "forward",
        ("_, state = self.gru(self.words(words))", "states, _ = self.gru(self.words(words))"),
        ("self.dense(state[0])", "self.dense(states.mean(1))"),
        model="gru",
    ),
]

# The optimiser is PyTorch's last chance to average: after the gradients have been clipped.
AVERAGED_LATE = """\
def average(optimizer, arguments, options):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            dist.all_reduce(parameter.grad)
            parameter.grad /= workers

others[0].register_step_pre_hook(average)
"""

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
            "return (Parallel(network), weighted, *others)",
            "network = Parallel(network)\n"
            "network.require_backward_grad_sync = False\n"
            "return (network, weighted, *others)",
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
    trap(
        "clipped_before_averaging",
        "momentum",
        (
            "return (Parallel(network), weighted, *others)",
            AVERAGED_LATE
            + "network = Parallel(network)\n"
            + "network.require_backward_grad_sync = False\n"
            + "return (network, weighted, *others)",
        ),
        model="workers",
    ),
]
