"""A framework's module as one of several workers runs it: each takes a share of every batch."""

import numpy as np

from common.data.shakespeare import IGNORED
from common.networks.model import JOINTS
from common.system import modules, workers


def parallel(name, model, module, count):
    """The model's module as this one of ``count`` workers runs it; with one, the module itself."""
    if count == 1:
        return module
    functions = modules.load(name, "workers")
    made = functions.parallel(module, count, workers.rank(name), counter(model))
    sources = getattr(module, "sources", (module.__file__,)) + (functions.__file__,)
    return modules.replaced(module, sources=sources, **made)


def counter(model):
    """The function that counts the targets that a batch's mean loss is over."""
    if model.task == JOINTS:
        return lambda targets: int(targets[..., 2].sum())  # the visible ones
    return lambda targets: int(np.count_nonzero(targets != IGNORED))
