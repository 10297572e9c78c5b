"""The Module API's traps, as patches of its modules."""

from frameworks.variants import trap

SOFTMAX = 'sym.SoftmaxOutput(network, label, name="softmax")'
LOSS = "sym.mean(-sym.pick(sym.log_softmax(network, temperature=1), label))"
RESCALE = '"rescale_grad": 1 / hp.batch_size,'
SGD = 'optimizer="sgd", optimizer_params=momentum'


def with_softmax(name, rung, argument):
    """A mistake that is an argument of the layer that makes the gradient."""
    return trap(name, rung, (SOFTMAX, SOFTMAX[:-1] + ", %s)" % argument))


TRAPS = [
    trap(
        "relu_with_a_ceiling",
        "forward",
        (
            'name="dense1")\nx = sym.Activation(x, act_type="relu")',
            'name="dense1")\nx = sym.clip(x, 0, 6)',
        ),
    ),
    trap("pool_by_average", "forward", ('"pool_type": "max"', '"pool_type": "avg"')),
    trap("rescaling_forgotten", "gradient", (RESCALE, '"rescale_grad": 1,')),
    with_softmax("divided_by_the_batch_size_twice", "gradient", 'normalization="batch"'),
    with_softmax("gradient_scaled", "gradient", "grad_scale=1.001"),
    with_softmax("labels_smoothed", "gradient", "smooth_alpha=0.001"),
    with_softmax("label_0_ignored", "gradient", "use_ignore=True, ignore_label=0"),
    trap(
        "logarithm_of_a_softmax",
        "gradient",
        (LOSS, "sym.mean(-sym.log(sym.pick(sym.softmax(network), label) + 1e-8))"),
    ),
    trap("weight_decay_in_the_optimiser", "gradient", (RESCALE, RESCALE + ' "wd": 1e-6,')),
    trap("gradients_clipped", "gradient", (RESCALE, RESCALE + ' "clip_gradient": 1.0,')),
    trap("nesterov_asked_for", "momentum", ('optimizer="sgd"', 'optimizer="nag"')),
    trap(
        "optimiser_made_in_each_pass",
        "momentum",
        (
            "trainer = model[0]\nfor",
            "trainer = model[0]\n"
            'options = {k: getattr(trainer._optimizer, k) for k in ("lr", "momentum")}\n'
            'options.update(learning_rate=options.pop("lr"))\n'
            "options.update(rescale_grad=trainer._optimizer.rescale_grad)\n"
            'trainer.init_optimizer(None, "sgd", options, force_init=True)\n'
            "for",
        ),
    ),
    trap(
        "prediction_has_weights_of_its_own",
        "accuracy",
        (
            "for_training=False, shared_module=trainer)",
            "for_training=False)\npredictor.set_params(shared, {})",
        ),
    ),
    trap(
        "prediction_fused_once",
        "accuracy",
        (
            'os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"',
            'os.environ.pop("MXNET_SUBGRAPH_BACKEND", None)',
        ),
    ),
    trap(
        "dropout_in_prediction",
        "dropout",
        ("DataBatch([nd.array(padded)]))", "DataBatch([nd.array(padded)]), is_train=True)"),
        ("for_training=False, shared_module", "for_training=True, shared_module"),
    ),
    trap(
        "training_mode_forgotten",
        "dropout",
        (
            "trainer.forward_backward(mx.io.DataBatch([x], [y]))",
            "trainer.forward(mx.io.DataBatch([x], [y]), is_train=False); trainer.backward()",
        ),
    ),
    trap("one_mask_for_all_channels", "dropout", ("p=drop2", "p=drop2, axes=(1,)")),
    trap(
        "reseeded_in_each_pass",
        "dropout",
        ("trainer = model[0]\nfor", "trainer = model[0]\nmx.random.seed(0)\nfor"),
    ),
    trap(
        "among_the_five_highest", "accuracy", ("mx.metric.Accuracy()", "mx.metric.TopKAccuracy(5)")
    ),
    trap(
        "loss_overwritten_by_the_next_step",
        "trajectory",
        ("get_outputs()[1].copy()", "get_outputs()[1]"),
    ),
]
