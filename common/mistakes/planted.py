"""Plant every known mistake in one framework, and see which rung catches it."""

import importlib
import tempfile
from collections import OrderedDict

from common.mistakes.mistake import of_trap
from common.proof.reference import conventions_of
from common.system import commands, modules
from common.system.patches import PatchError


class NotPlanted(Exception):
    """The wrong module failed before its mistake could do anything."""


def own(name, model):
    """A framework's traps in a model, as mistakes."""
    return [of_trap(trap) for trap in modules.traps(name, model)]


def expected(mistake, module):
    """The mistake, with the rung that must name it in this module."""
    if mistake.of_squares and conventions_of(module.configure("same", 1, 0)).variance == "squares":
        return mistake._replace(rung=mistake.of_squares)
    return mistake


def caught(certifier, module, lane, mistake):
    """(the rung that catches a module with ``mistake``, its message); (None, "") if none does.

    The rung that should name the mistake comes first, then the others in order.
    """
    with tempfile.TemporaryDirectory() as folder:
        wrong = mistake.make(module, folder)
        for rung in [mistake.rung] + [other for other in certifier.rungs if other != mistake.rung]:
            certifier.take(wrong, lane)  # with new models, which no other rung has trained
            result = certifier.climb(rung, stop_early=True)
            if result["what"] == "ran" and not mistake.raises:
                raise NotPlanted(result["detail"])
            if not result["passed"]:
                return rung, result["detail"]
    return None, ""


def plant(certifier, module, mistakes, report, forget=""):
    """{mistake: [rung that should name it, rung that caught it]}, each planted in lane same.

    A mistake that cannot be planted is reported as not caught, and the others are still planted.
    forget: an environment's fact; without it, code of all mistakes would stay in memory.
    """
    library, _, function = forget.partition(":")
    rungs = OrderedDict()
    for mistake in (expected(each, module) for each in mistakes):
        try:
            rung, detail = caught(certifier, module, "same", mistake)
        except Exception as error:  # patched source may raise anything
            commands.check_interrupt()
            why = "" if isinstance(error, (NotPlanted, PatchError)) else type(error).__name__ + ": "
            rung, detail = None, "it could not be planted: %s%s" % (why, error)
        report(mistake, rung, detail)
        rungs[mistake.name] = [mistake.rung, rung]
        if forget:
            getattr(importlib.import_module(library), function)()
    return rungs
