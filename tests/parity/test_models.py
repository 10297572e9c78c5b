"""Every further network of a framework trains here; its certificate is on record.

``tox run -e prove -- NAME`` makes the record, and continuous integration repeats it.
"""

import numpy as np

from common import networks
from common.networks import weights
from common.networks.cnn import CNN
from common.proof import tasks
from common.system import modules


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    further = [model.name for model in modules.models(name) if model is not CNN]
    if "further" in metafunc.fixturenames:
        metafunc.parametrize("further", further)
    if "size" in metafunc.fixturenames:
        sizes = [size for size, model in networks.ALL.items() if model.size_of in further]
        metafunc.parametrize("size", sizes)


def test_a_further_network_trains(name, further, threads):
    model, module = networks.find(further), modules.load(name, further)
    hp = model.hp._replace(batch_size=4)
    settings = module.configure("same", threads, 0)
    initial = model.initialize(model.shapes, 0)
    trained = module.loss(module.symbol(settings, hp), settings, hp, initial)
    batch = module.load(*tasks.of(model).observations(4, 0), settings=settings)
    (loss,) = module.train(trained, [batch])
    assert np.isfinite(float(loss))
    weights.check(model, module.weights(trained))


def test_a_model_of_another_size_has_its_tensors(name, size, threads):
    model = networks.find(size)
    module = modules.load(name, size)
    settings = module.configure("same", threads, 0)
    initial = model.initialize(model.shapes, 0)
    trained = module.loss(module.symbol(settings, model.hp), settings, model.hp, initial)
    weights.check(model, module.weights(trained))
