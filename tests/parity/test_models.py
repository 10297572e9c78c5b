"""Every further model that a framework has climbs the rungs that apply to it.

In lane best: its settings are further from the reference's, and both lanes would take twice as
long. Where several environments share their modules, only the first climbs, or any that is asked to
with ``--shared-modules``; the others take a step. ``python -m common.mistakes`` climbs with all,
in both lanes.
"""

import subprocess
import sys

import numpy as np

import frameworks
from common import networks
from common.networks import weights
from common.networks.cnn import CNN
from common.proof import tasks
from common.system import modules
from common.system.files import ROOT


def proven_elsewhere(name):
    """Whether an environment that needs no GPU, as this one, comes before it in the same folder."""
    known = frameworks.ENVIRONMENTS
    alike = [other for other in known if known[other].folder == known[name].folder]
    return not known[name].gpu and name != alike[0]


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    further = [model.name for model in modules.models(name) if model is not CNN]
    sizes = [size for size, model in networks.ALL.items() if model.size_of in further]
    shared = []
    if proven_elsewhere(name) and not metafunc.config.getoption("--shared-modules"):
        further, shared = shared, further
    if "further" in metafunc.fixturenames:
        metafunc.parametrize("further", further)
    if "shared" in metafunc.fixturenames:
        metafunc.parametrize("shared", shared)
    if "size" in metafunc.fixturenames:
        metafunc.parametrize("size", sizes)


def test_certificate(name, further):
    command = [sys.executable, "-m", "common.proof", name, "--model", further, "--lane", "best"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0


def test_a_module_that_is_proven_elsewhere_trains_here(name, shared, threads):
    model, module = networks.find(shared), modules.load(name, shared)
    hp = model.hp._replace(batch_size=4)
    settings = module.configure("best", threads, 0)
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
