"""The Module API's own traps, written as changes to MXNet's other module."""

from common.mistakes.mistake import changed

SOFTMAX = 'sym.SoftmaxOutput(network, label, name="softmax")'
LOSS = "sym.mean(-sym.pick(sym.log_softmax(network, temperature=1), label))"
RESCALE = '"rescale_grad": 1 / hp.batch_size,'
SGD = 'optimizer="sgd", optimizer_params=momentum'


def with_softmax(name, rung, argument):
    """A mistake that is an argument of the layer that makes the gradient."""
    return changed(name, rung, (SOFTMAX, SOFTMAX[:-1] + ", %s)" % argument))


MISTAKES = [
    changed(
        "relu_with_a_ceiling",
        "forward",
        (
            'name="dense1")  # (N, 512)\n    x = sym.Activation(x, act_type="relu")',
            'name="dense1")\n    x = sym.clip(x, 0, 6)',
        ),
    ),
    changed("pool_by_average", "forward", ('"pool_type": "max"', '"pool_type": "avg"')),
    changed("rescaling_forgotten", "gradient", (RESCALE, '"rescale_grad": 1,')),
    with_softmax("divided_by_the_batch_size_twice", "gradient", 'normalization="batch"'),
    with_softmax("gradient_scaled", "gradient", "grad_scale=1.001"),
    with_softmax("labels_smoothed", "gradient", "smooth_alpha=0.001"),
    with_softmax("label_0_ignored", "gradient", "use_ignore=True, ignore_label=0"),
    changed(
        "logarithm_of_a_softmax",
        "gradient",
        (LOSS, "sym.mean(-sym.log(sym.pick(sym.softmax(network), label) + 1e-8))"),
    ),
    changed("weight_decay_in_the_optimiser", "gradient", (RESCALE, RESCALE + ' "wd": 1e-6,')),
    changed("gradients_clipped", "gradient", (RESCALE, RESCALE + ' "clip_gradient": 1.0,')),
    changed("nesterov_asked_for", "momentum", ('optimizer="sgd"', 'optimizer="nag"')),
    changed(
        "optimiser_made_in_each_pass",
        "momentum",
        (
            "    trainer = model[0]\n    for",
            "    trainer = model[0]\n"
            '    options = {k: getattr(trainer._optimizer, k) for k in ("lr", "momentum")}\n'
            '    options.update(learning_rate=options.pop("lr"))\n'
            "    options.update(rescale_grad=trainer._optimizer.rescale_grad)\n"
            '    trainer.init_optimizer(None, "sgd", options, force_init=True)\n'
            "    for",
        ),
    ),
    changed(
        "prediction_has_weights_of_its_own",
        "accuracy",
        ("for_training=False, shared_module=trainer)", "for_training=False)"),
        (
            "    return trainer, predictor",
            "    predictor.set_params(shared, {})\n    return trainer, predictor",
        ),
    ),
    changed(
        "prediction_fused_once",
        "accuracy",
        (
            'os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"',
            'os.environ.pop("MXNET_SUBGRAPH_BACKEND", None)',
        ),
    ),
    changed(
        "dropout_in_prediction",
        "dropout",
        ("DataBatch([nd.array(padded)]))", "DataBatch([nd.array(padded)]), is_train=True)"),
        ("for_training=False, shared_module", "for_training=True, shared_module"),
    ),
    changed(
        "training_mode_forgotten",
        "dropout",
        (
            "trainer.forward_backward(mx.io.DataBatch([x], [y]))",
            "trainer.forward(mx.io.DataBatch([x], [y]), is_train=False); trainer.backward()",
        ),
    ),
    changed("one_mask_for_all_channels", "dropout", ("p=drop2", "p=drop2, axes=(1,)")),
    changed(
        "reseeded_in_each_pass",
        "dropout",
        (
            "    trainer = model[0]\n    for",
            "    trainer = model[0]\n    mx.random.seed(0)\n    for",
        ),
    ),
    changed(
        "among_the_five_highest",
        "accuracy",
        ("mx.metric.Accuracy()", "mx.metric.TopKAccuracy(5)"),
    ),
    changed(
        "loss_overwritten_by_the_next_step",
        "trajectory",
        ("get_outputs()[1].copy()", "get_outputs()[1]"),
    ),
]
