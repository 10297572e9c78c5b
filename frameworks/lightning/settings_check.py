"""Lightning: its trainer; the rest as PyTorch, which it trains."""

from frameworks.pytorch import settings_check


def in_force(module, settings, model):
    classifier, trainer = model
    assert trainer.precision == "32-true"
    assert trainer.accumulate_grad_batches == 1
    assert trainer.gradient_clip_val is None
    trained = classifier.network, None, classifier.optimizer
    return settings_check.in_force(module, settings, trained)


older = settings_check.older
