"""Caffe2's traps, as patches of its modules."""

from frameworks.variants import trap

SHARED = (
    (
        "workspace.SwitchWorkspace(train_net.Name())\nworkspace.FeedBlob(",
        'workspace.SwitchWorkspace("shared")\nworkspace.FeedBlob(',
    ),
    (
        "workspace.SwitchWorkspace(train_net.Name())\nscores",
        'workspace.SwitchWorkspace("shared")\nscores',
    ),
    ("workspace.SwitchWorkspace(model[0].Name())", 'workspace.SwitchWorkspace("shared")'),
    ("weakref.finalize(train_model.net, reset, train_model.net.Name())", ""),
)
OWN = "workspace.SwitchWorkspace(train_model.net.Name(), True)"

TRAPS = [
    trap("nesterov_by_default", "momentum", ("nesterov=False,", "")),
    trap(
        "learning_rate_policy",
        "momentum",
        ('policy="fixed"', 'policy="step", stepsize=60, gamma=0.9'),
    ),
    trap(
        "tutorials_policy", "gradient", ('policy="fixed"', 'policy="step", stepsize=1, gamma=0.999')
    ),
    trap(
        "weight_decay_added",
        "gradient",
        (
            "optimizer.build_sgd(",
            "optimizer.add_weight_decay(train_model, 1e-6)\noptimizer.build_sgd(",
        ),
    ),
    trap(
        "cross_entropy_that_clips",
        "gradient",
        (
            'train_model.net.SoftmaxWithLoss(["dense2", "y"], ["softmax", "loss"])',
            'train_model.net.Softmax("dense2", "softmax")\n'
            'train_model.net.LabelCrossEntropy(["softmax", "y"], "each")\n'
            'train_model.net.AveragedLoss("each", "loss")',
        ),
    ),
    trap(
        "loss_scaled_by_the_batch",
        "gradient",
        ('["softmax", "loss"])', '["softmax", "loss"], scale=float(hp.batch_size))'),
    ),
    trap("ties_shared_unsaid", "gradient", ('if best else "MaxPool"', 'if best else ""')),
    trap("relu_forgotten", "forward", ('brew.relu(model, "dense1", "dense1")', "")),
    trap(
        "pool_by_average",
        "forward",
        ('brew.max_pool(model, "conv2"', 'brew.average_pool(model, "conv2"'),
    ),
    trap(
        "first_weights_kept",
        "gradient",
        ('"Conv MaxPool Relu" if best else "MaxPool"', '"Conv MaxPool Relu"'),
        ('op.arg.add(name="training_mode", i=1)', "pass", "ideep"),
        raises=True,
    ),
    trap(
        "weights_not_fed",
        "weights",
        ('workspace.FeedBlob(layer + "_w", weights[layer + ".weight"], device)', "pass"),
    ),
    trap(
        "one_workspace", "trajectory", (OWN, 'workspace.SwitchWorkspace("shared", True)'), *SHARED
    ),
    trap(
        "workspace_reset_by_each_model",
        "trajectory",
        (OWN, 'workspace.SwitchWorkspace("shared", True)\nworkspace.ResetWorkspace()'),
        *SHARED,
        raises=True,
    ),
    trap("dropout_in_prediction", "dropout", ("is_test=not model.init_params", "is_test=False")),
    trap("test_mode_in_training", "dropout", ("is_test=not model.init_params", "is_test=True")),
    trap(
        "one_seed_for_all_layers",
        "dropout",
        ('(3 * settings["seed"] + layer)', '(3 * settings["seed"])'),
    ),
    trap("seed_unsaid", "dropout", ("DeviceOption(kind, random_seed=seed)", "DeviceOption(kind)")),
]

# The workers.
TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        ("np.array(weight,", "np.array(workers * weight,"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        ("np.array(weight,", "np.array(weight / workers,"),
        model="workers",
    ),
    trap(
        "gradients_not_averaged",
        "gradient",
        ("[loss, *model.param_to_grad.values()]", "[loss]"),
        model="workers",
    ),
    trap(
        "mean_of_means",
        "gradient",
        ("weight = counted(y[share]) / counted(y)", "weight = 1 / workers"),
        model="workers",
    ),
    trap(
        "masks_alike",
        "dropout",
        ('settings["seed"] + 2**16 * rank', 'settings["seed"]'),
        model="workers",
    ),
]
