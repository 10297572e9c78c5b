"""A framework's own profiler shows where a pass spends its time."""

import time
from collections import OrderedDict

import pytest

from common import networks
from common.profiles import categories
from common.proof import tasks
from common.system import modules
from tests import beside

MODEL = networks.find("cnn")
ROWS, BATCHES = 16, 3


@pytest.fixture(scope="module")
def passed(name, threads):
    """(the profiler's operations in a pass, seconds of a pass without it, seconds with it)."""
    beside.need(name, "profile")
    module = modules.load(name)
    settings = module.configure("same", threads, 0)
    hp = MODEL.hp._replace(batch_size=ROWS)
    observations = [tasks.of(MODEL).observations(ROWS, seed) for seed in range(BATCHES)]
    batches = [module.load(*pair, settings=settings) for pair in observations]

    def build():
        weights = MODEL.initialize(MODEL.shapes, 0)
        return module.loss(module.symbol(settings, hp), settings, hp, weights)

    model = build()
    list(module.train(model, batches[:1]))  # compiles
    start = time.perf_counter()
    assert len([float(loss) for loss in module.train(model, batches)]) == BATCHES
    plain = time.perf_counter() - start
    start = time.perf_counter()
    operations = modules.load(name, "profile").profile(build, module.train, batches)
    return operations, plain, time.perf_counter() - start


def test_a_profile_has_the_pass_in_it(passed, threads):
    operations, plain, profiled = passed
    assert (
        isinstance(operations, OrderedDict)
        and list(operations.values()) == sorted(operations.values())[::-1]
    )
    assert all(type(name) is str and 0 <= seconds for name, seconds in operations.items())
    assert sum(operations.values()) > plain / 10  # another run, on a machine that may be busy
    assert max(operations.values()) < threads * profiled


def test_most_of_it_is_convolution(name, passed):
    operations, _, _ = passed
    slowest = [categories.category(name, "cnn", operation) for operation in list(operations)[:3]]
    convolutions = categories.FORWARD, categories.BACKWARD, categories.CONVOLUTION
    assert {*convolutions, categories.TOGETHER} & set(slowest), list(operations)[:3]
