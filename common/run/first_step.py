"""python -m common.run.first_step NAME MODEL LANE: whether a framework's version can run it.

Trains one step on zeros. The last line says what is missing: exit code 2.
"""

import sys

import numpy as np

from common import networks
from common.data import batches
from common.proof import tasks
from common.system import commands, machine, modules
from common.system.errors import InputError


def train(module, model, lane):
    """Train one step."""
    settings, hp = module.configure(lane, machine.usable_cores(), 0), model.hp
    observations, targets = tasks.of(model).observations(hp.batch_size, 0)
    x, y = module.load(observations, targets, settings)
    weights = model.initialize(model.shapes, 0)
    trained = module.loss(module.symbol(settings, hp), settings, hp, weights)
    losses = list(map(float, module.train(trained, batches.batches(x, y, hp.batch_size, 0, 0))))
    if not np.isfinite(losses).all():
        raise ArithmeticError("the first loss is not a finite number")


def command(arguments):
    """Exit code 0 if a step can be trained."""
    name, model, lane = arguments
    environment = modules.find(name, model)
    try:
        train(modules.in_lane(name, lane, model), networks.find(model), lane)
    except InputError:
        raise
    except Exception as error:  # whatever an unknown version raises
        known = machine.versions(environment.package)
        what = (environment.title, known["framework"], modules.path(environment, model))
        reason = "%s: %s" % (type(error).__name__, " ".join(str(error).split()))
        raise InputError("%s %s cannot run %s: %s" % (what + (reason,)))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
