"""Lightning's traps, as patches of its modules."""

from frameworks.variants import trap

LOADER = "DataLoader(Batches(batches), batch_size=None)"
SCORES = "torch.cat(trainer.predict(classifier, loader))"
STEP = "return self.criterion(self.network(x), y)"
MANUAL = ("super().__init__()", "super().__init__()\nself.automatic_optimization = False")


def asked(name, rung, argument):
    """A mistake that is one more argument of the trainer."""
    return trap(name, rung, ("max_epochs=1,", "max_epochs=1, %s," % argument))


TRAPS = [
    trap(
        "shuffled_by_the_loader",
        "data",
        (LOADER, "DataLoader(list(batches), batch_size=None, shuffle=True)"),
    ),
    trap(
        "batches_begun_twice_from_the_second_epoch_on",
        "data",
        ("max_epochs=1,", "max_epochs=0,"),
        ("trainer.fit_loop.epoch_progress.reset()", "trainer.fit_loop.max_epochs += 1"),
    ),
    asked("batches_limited_as_in_a_trial", "data", "limit_train_batches=6"),
    asked("prediction_limited_as_in_a_trial", "forward", "limit_predict_batches=1"),
    trap(
        "precision_of_mixed_bfloat16",
        "forward",
        ('"32-true"', '"bf16-mixed"'),
        (SCORES, SCORES + ".float()"),
    ),
    trap("precision_of_float64", "forward", ('"32-true"', '"64-true"')),
    asked("gradients_accumulated", "gradient", "accumulate_grad_batches=2"),
    asked("gradient_clipped_by_norm", "gradient", "gradient_clip_val=1.0"),
    asked(
        "gradient_clipped_by_value",
        "gradient",
        'gradient_clip_val=1e-3, gradient_clip_algorithm="value"',
    ),
    trap("manual_optimisation_without_a_step", "gradient", MANUAL),
    trap(
        "manual_optimisation_without_zero_grad",
        "momentum",
        MANUAL,
        (
            STEP,
            "step_loss = self.criterion(self.network(x), y)\n"
            "self.manual_backward(step_loss)\n"
            "self.optimizers().step()\n"
            "return step_loss",
        ),
    ),
    trap(
        "optimiser_made_in_each_fit",
        "momentum",
        (
            "return self.optimizer",
            "return type(self.optimizer)(self.parameters(), **self.optimizer.defaults)",
        ),
    ),
    trap(
        "learning_rate_falls_by_the_epoch",
        "momentum",
        (
            "return self.optimizer",
            "schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)\n"
            "return [self.optimizer], [schedule]",
        ),
    ),
    trap(
        "average_of_the_weights_put_back",
        "momentum",
        (
            "callbacks=[HandOver()]",
            "callbacks=[\n"
            "    HandOver(),\n"
            "    lightning.pytorch.callbacks.EMAWeightAveraging(decay=0.5),\n"
            "]",
        ),
    ),
    trap("left_in_eval_mode", "dropout", ("classifier.train()", "classifier.eval()")),
    trap(
        "everything_seeded_in_each_pass",
        "dropout",
        ("classifier.train()", "classifier.train()\nlightning.seed_everything(0, verbose=False)"),
    ),
    trap(
        "softmax_in_the_network",
        "forward",
        ("nn.Linear(512, 10),", "nn.Linear(512, 10), softmax=nn.Softmax(1),"),
    ),
    trap(
        "labels_smoothed",
        "gradient",
        ("nn.CrossEntropyLoss()", "nn.CrossEntropyLoss(label_smoothing=0.001)"),
    ),
]

# Mistakes of workers.

SHARED = "workers * counted(y[share]) / counted(y)"
UNSYNCHRONISED = """\
classifier.criterion = weighted
classifier.on_train_start = lambda: setattr(
    classifier.trainer.strategy.model, "require_backward_grad_sync", False
)"""

TRAPS += [
    trap(
        "gradients_summed",
        "gradient",
        (SHARED, "workers**2 * counted(y[share]) / counted(y)"),
        ("step_loss / workers", "step_loss / workers**2"),
        model="workers",
    ),
    trap(
        "gradients_averaged_twice",
        "gradient",
        (SHARED, "counted(y[share]) / counted(y)"),
        ("step_loss / workers", "step_loss"),
        model="workers",
    ),
    trap(
        "gradients_not_averaged",
        "gradient",
        ("classifier.criterion = weighted", UNSYNCHRONISED),
        model="workers",
    ),
    trap("mean_of_means", "gradient", (SHARED, "1.0"), model="workers"),
    trap("masks_alike", "dropout", ("seed + 2**16 * rank", "seed"), model="workers"),
    trap(
        "masks_of_the_first_fit_again",
        "dropout",
        ('os.environ.pop("PL_GLOBAL_SEED")', "pass"),
        model="workers",
    ),
]
