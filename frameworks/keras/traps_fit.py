"""The traps of Keras's ``fit``, as patches of its modules."""

from frameworks.variants import trap

DATASET = "dataset = tf.data.Dataset.from_generator(lambda: batches, output_signature=(x, y))"
ARRAYS = "x, y = (keras.ops.concatenate(part) for part in zip(*batches))"
GIVEN = "dataset.with_options(options), shuffle=False,"


def with_arrays(name, arguments):
    """A mistake in how ``fit`` cuts arrays into batches."""
    return trap(name, "data", (DATASET, ARRAYS), (GIVEN, arguments))


def given(name, rung, argument):
    """A mistake that is one more argument of ``fit``."""
    return trap(name, rung, (GIVEN, "%s %s," % (GIVEN, argument)))


def with_optimiser(name, rung, argument):
    """A mistake that is one more argument of the optimiser."""
    old = "keras.optimizers.SGD(hp.learning_rate, hp.momentum)"
    return trap(name, rung, (old, "%s, %s)" % (old[:-1], argument), "cnn"))


def called_back(name, rung, callback):
    """A mistake that is one more callback."""
    return trap(name, rung, ("[HandOver()]", "[HandOver(), %s]" % callback))


TRAPS = [
    with_arrays("arrays_shuffled_by_default", "x, y, batch_size=16,"),
    with_arrays("batches_of_32_by_default", "x, y, shuffle=False,"),
    with_arrays(
        "a_part_kept_for_validation", "x, y, batch_size=16, shuffle=False, validation_split=0.2,"
    ),
    trap("data_set_shuffled", "data", (DATASET, DATASET + ".shuffle(16, seed=0)")),
    given("steps_limited_as_in_a_trial", "data", "steps_per_epoch=6"),
    trap(
        "several_steps_in_one_execution",
        "data",
        (
            'jit_compile=settings["jit"]',
            'jit_compile=settings["jit"], steps_per_execution=2',
            "cnn",
        ),
    ),
    trap(
        "mean_of_the_epoch_taken_for_the_loss",
        "trajectory",
        ("self.model.reset_metrics()", "pass"),
    ),
    given("a_class_weighted", "gradient", "class_weight={n: 1 + (n == 3) for n in range(10)}"),
    called_back(
        "learning_rate_lowered_by_the_epoch",
        "momentum",
        "keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.9 * rate)",
    ),
    with_optimiser("gradients_accumulated", "gradient", "gradient_accumulation_steps=2"),
    with_optimiser("gradient_clipped_by_norm", "gradient", "global_clipnorm=5.0"),
    with_optimiser("average_of_the_weights_put_back", "momentum", "use_ema=True, ema_momentum=0.5"),
    trap(
        "compiled_in_each_pass",
        "momentum",
        (
            "fit = greenlet(model.fit)",
            "hp = model.optimizer.get_config()\n"
            "model.compile(\n"
            '    keras.optimizers.SGD(hp["learning_rate"], hp["momentum"]), model.loss\n'
            ")\n"
            "fit = greenlet(model.fit)",
        ),
    ),
    trap(
        "one_layer_in_mixed_bfloat16",
        "forward",
        ('name="dense1"),', 'name="dense1", dtype="mixed_bfloat16"),', "cnn"),
    ),
]
