"""python -m tests.settings NAME LANE: print, as JSON, the settings and those in force.

A process reads some switches only once, so each lane needs a separate process.
"""

import importlib
import json
import sys

import numpy as np

from common.networks.cnn import CNN
from common.system import machine, modules
from frameworks import effects

THREADS = 1  # no framework's default where there are more cores
SEED = 3
BATCH = 4


def main(name, lane):
    folder = modules.find(name).folder
    machine.limit_threads(THREADS)
    module = modules.load(name)
    asked = importlib.import_module("frameworks.%s.settings_check" % folder)
    settings = module.configure(lane, THREADS, SEED)
    hp = CNN.hp._replace(batch_size=BATCH)
    weights = CNN.initialize(CNN.shapes, SEED)
    random = np.random.RandomState(SEED)
    images = random.uniform(size=(BATCH,) + CNN.observation).astype(np.float32)
    labels = np.arange(BATCH)
    x, y = module.load(images, labels, settings)
    model = module.loss(module.symbol(settings, hp), settings, hp, weights)
    for step_loss in module.train(model, [(x, y)]):
        float(step_loss)
    module.wait(model)
    in_force = asked.in_force(module, settings, model)
    report = {"settings": settings, "in_force": in_force, "mkl_cpu_type": effects.mkl_cpu_type()}
    print("\n" + json.dumps(report))


main(*sys.argv[1:])
