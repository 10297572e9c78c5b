"""Environments for tests that need one of some kind, so that no test names a framework."""

import frameworks
from common.system import modules


def environment(like=lambda environment: True, **facts):
    """The name of the first environment, except the reference, that has these facts."""
    for name, candidate in frameworks.ENVIRONMENTS.items():
        if candidate.folder != frameworks.REFERENCE and like(candidate):
            if all(getattr(candidate, fact) == value for fact, value in facts.items()):
                return name
    raise LookupError("no environment has %s" % (facts or "that"))


def without(model):
    """An environment that has no module for the model."""
    return environment(lambda candidate: not modules.has(candidate.name, model))


PLAIN = environment(lambda candidate: modules.has(candidate.name, "mlp"), gpu_of="")
WITH_WORKERS = environment(lambda candidate: candidate.workers_of == candidate.name)
WITH_SCRIPT = environment(lambda candidate: modules.has(candidate.name, modules.PLAIN), gpu_of="")
WITH_SCRIPT_ON_GPU = environment(
    lambda candidate: candidate.gpu and modules.has(candidate.name, modules.PLAIN)
)
