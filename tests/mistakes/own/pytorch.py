"""PyTorch's own traps, written as changes to its module."""

from tests.mistakes.mistake import changed

MISTAKES = [
    changed(
        "softmax_in_the_network",
        "forward",
        ("nn.Linear(512, 10),", "nn.Linear(512, 10), nn.Softmax(1),"),
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
    changed("zero_grad_forgotten", "gradient", ("        optimizer.zero_grad()\n", "")),
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
    changed("float64_in_disguise", "trajectory", ("nn.Flatten(),", "nn.Flatten(),")),
]
