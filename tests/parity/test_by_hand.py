"""A backward pass written by hand gives the numbers of the framework's own, bit for bit."""

import numpy as np

from common import networks
from common.proof import tasks
from common.system import modules

POSE = networks.find("pose")
STEPS, ROWS = 5, 8


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    known = [lever for lever in modules.levers(name, POSE.name) if lever == "by_hand"]
    assert bool(known) == modules.has(name, "by_hand")
    metafunc.parametrize("lever", known)


def test_losses_and_weights_are_equal_bit_for_bit(name, lever, threads):
    results = []
    for pulled in ("", lever):
        module = modules.load(name, POSE.name, pulled)
        settings = module.configure("same", threads, 0)
        hp = POSE.hp._replace(batch_size=ROWS)
        initial = POSE.initialize(POSE.shapes, 0)
        model = module.loss(module.symbol(settings, hp), settings, hp, initial)
        batches = (tasks.of(POSE).observations(ROWS, seed) for seed in range(STEPS))
        batches = [module.load(*pair, settings=settings) for pair in batches]
        losses = [float(loss) for loss in module.train(model, batches)]
        results.append((losses, module.weights(model)))
    (losses, weights), (by_hand, moved) = results
    assert len(losses) == STEPS and losses == by_hand
    assert all(np.array_equal(weights[tensor], moved[tensor]) for tensor in weights)
    assert not any(np.array_equal(weights[tensor], initial[tensor]) for tensor in weights)
