"""All mistakes that can be planted in any framework."""

import functools

from common import networks
from common.mistakes import (  # noqa: F401
    accuracy,
    adam,
    batchnorm,
    data,
    dropout,
    forward,
    gradient,
    joints,
    momentum,
    schedule,
    tokens,
    trajectory,
    weights,
)
from common.mistakes.mistake import KNOWN, Mistake
from common.proof.rungs import RUNGS


def mistakes(model):
    """The mistakes that apply to a model's modules, in the order of the rungs."""
    networks.part(model.name, "mistakes")  # the import registers the network's own
    task = model.task
    kind = "%s of %s" % (task.name, task.observations)
    present = model.traits | {"", model.name, task.name, kind}
    applicable = [
        Mistake(make.__name__, rung, _ignore_folder(make), False, of_squares)
        for make, rung, of_squares, trait in KNOWN
        if trait in present
    ]
    return sorted(applicable, key=lambda mistake: RUNGS.index(mistake.rung))


def _ignore_folder(make):
    @functools.wraps(make)
    def made(module, folder):
        return make(module)

    return made
