"""The module keeps the contract: quick checks before a certificate."""

import pytest

from common.networks.hyperparameters import without_dropout
from common.proof import contract, tasks
from common.proof.rungs.accuracy import FIGURE


def test_functions_are_those_of_the_contract_in_its_order(module, model):
    assert contract.problems(module, model.task) == []


@pytest.mark.parametrize("lane", contract.LANES)
def test_settings_are_complete(module, threads, lane):
    settings = module.configure(lane, threads, 0)
    assert contract.settings_problems(settings) == []
    assert settings["precision"] == "float32"


def test_predict_gives_a_row_for_every_observation(module, model, threads):
    """Including a last partial batch of any size."""
    settings = module.configure("same", threads, 0)
    hp = without_dropout(model.hp)._replace(batch_size=16)
    weights = model.initialize(model.shapes, 0)
    trained = module.loss(module.symbol(settings, hp), settings, hp, weights)
    task = tasks.of(model)
    observations, targets = task.observations(65, 0)
    for n in (1, 65):
        x, _ = module.load(observations[:n], targets[:n], settings)
        outputs = module.predict(trained, x)
        assert outputs.shape == (n,) + task.returned
        assert str(outputs.dtype) == "float32"
    outputs, targets, right = task.graded()
    assert float(module.evaluate(outputs, targets)) == pytest.approx(right, FIGURE, FIGURE)
