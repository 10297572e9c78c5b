"""Caffe2's own traps, written as changes to its module."""

from common.mistakes.mistake import changed

SHARED = (
    (
        "workspace.SwitchWorkspace(train_net.Name())\n        workspace.FeedBlob(",
        'workspace.SwitchWorkspace("shared")\n        workspace.FeedBlob(',
    ),
    (
        "workspace.SwitchWorkspace(train_net.Name())\n    scores",
        'workspace.SwitchWorkspace("shared")\n    scores',
    ),
    ("workspace.SwitchWorkspace(model[0].Name())", 'workspace.SwitchWorkspace("shared")'),
    ("    weakref.finalize(train_model.net, reset, train_model.net.Name())\n", ""),
)
OWN = "workspace.SwitchWorkspace(train_model.net.Name(), True)"

MISTAKES = [
    changed("nesterov_by_default", "momentum", ("            nesterov=False,\n", "")),
    changed(
        "learning_rate_policy",
        "momentum",
        ('policy="fixed"', 'policy="step", stepsize=60, gamma=0.9'),
    ),
    changed(
        "tutorials_policy",
        "gradient",
        ('policy="fixed"', 'policy="step", stepsize=1, gamma=0.999'),
    ),
    changed(
        "weight_decay_added",
        "gradient",
        (
            "        optimizer.build_sgd(",
            "        optimizer.add_weight_decay(train_model, 1e-6)\n        optimizer.build_sgd(",
        ),
    ),
    changed(
        "cross_entropy_that_clips",
        "gradient",
        (
            'train_model.net.SoftmaxWithLoss(["dense2", "y"], ["softmax", "loss"])',
            'train_model.net.Softmax("dense2", "softmax")\n'
            '        train_model.net.LabelCrossEntropy(["softmax", "y"], "each")\n'
            '        train_model.net.AveragedLoss("each", "loss")',
        ),
    ),
    changed(
        "loss_scaled_by_the_batch",
        "gradient",
        ('["softmax", "loss"])', '["softmax", "loss"], scale=float(hp.batch_size))'),
    ),
    changed("ties_shared_unsaid", "gradient", ('if best else "MaxPool"', 'if best else ""')),
    changed(
        "relu_forgotten", "forward", ('            brew.relu(model, "dense1", "dense1")\n', "")
    ),
    changed(
        "pool_by_average",
        "forward",
        ('brew.max_pool(model, "conv2"', 'brew.average_pool(model, "conv2"'),
    ),
    changed(
        "first_weights_kept",
        "gradient",
        ('"Conv MaxPool Relu" if best else "MaxPool"', '"Conv MaxPool Relu"'),
        ('                op.arg.add(name="training_mode", i=1)', "                pass"),
        raises=True,
    ),
    changed(
        "weights_not_fed",
        "weights",
        ('workspace.FeedBlob(layer + "_w", weights[layer + ".weight"], device)', "pass"),
    ),
    changed(
        "one_workspace", "trajectory", (OWN, 'workspace.SwitchWorkspace("shared", True)'), *SHARED
    ),
    changed(
        "workspace_reset_by_each_model",
        "trajectory",
        (OWN, 'workspace.SwitchWorkspace("shared", True)\n    workspace.ResetWorkspace()'),
        *SHARED,
        raises=True,
    ),
    changed("dropout_in_prediction", "dropout", ("is_test=not model.init_params", "is_test=False")),
    changed("test_mode_in_training", "dropout", ("is_test=not model.init_params", "is_test=True")),
    changed(
        "one_seed_for_all_layers",
        "dropout",
        ('(3 * settings["seed"] + layer)', '(3 * settings["seed"])'),
    ),
    changed(
        "seed_unsaid", "dropout", ("DeviceOption(kind, random_seed=seed)", "DeviceOption(kind)")
    ),
]
