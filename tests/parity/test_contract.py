"""The module keeps the contract."""

import pytest

from common.given.hyperparameters import CIFAR10, NO_DROPOUT
from common.proof import contract


def test_functions_are_those_of_the_contract_in_its_order(module):
    assert contract.problems(module) == []


@pytest.mark.parametrize("lane", contract.LANES)
def test_settings_are_complete(module, threads, lane):
    settings = module.configure(lane, threads, 0)
    assert contract.settings_problems(settings) == []
    assert settings["precision"] == "float32"


def test_predict_gives_a_row_of_scores_for_every_image(module, threads, certifier):
    """The last partial batch too, whatever is left over."""
    settings = module.configure("same", threads, 0)
    hp = CIFAR10._replace(dropout=NO_DROPOUT)
    model = module.loss(module.symbol(settings, hp), settings, hp, certifier.weights)
    for n in (1, 65):
        x, y = module.load(certifier.test_images[:n], certifier.test_labels[:n], settings)
        scores = module.predict(model, x)
        assert scores.shape == (n, 10)
        assert str(scores.dtype) == "float32"
    accuracy = module.evaluate(scores, certifier.test_labels[:n])
    assert float(accuracy) == pytest.approx((scores.argmax(1) == certifier.test_labels[:n]).mean())
