"""Environments for tests that need one of some kind, so that no test names a framework."""

import frameworks
from common.system import modules


def environment(like=lambda environment: True, **facts):
    """The name of the first environment, but for the reference, that has these facts."""
    for name, one in frameworks.ENVIRONMENTS.items():
        if one.folder != frameworks.REFERENCE and like(one):
            if all(getattr(one, fact) == value for fact, value in facts.items()):
                return name
    raise LookupError("no environment has %s" % (facts or "that"))


def without(model):
    """An environment that has no module for the model."""
    return environment(lambda one: not modules.has(one.name, model))


PLAIN = environment(lambda one: modules.has(one.name, "mlp"), gpu_of="")
WITH_WORKERS = environment(lambda one: one.workers_of == one.name)
