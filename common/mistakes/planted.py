"""Plant every known mistake in one framework and see which rung catches it."""

import importlib
import tempfile
from collections import OrderedDict

import frameworks


def own(name, model):
    """A framework's own traps in a model."""
    framework = frameworks.ENVIRONMENTS[name]
    known = importlib.import_module("tests.mistakes.own." + framework.folder + framework.variant)
    return [one for one in known.MISTAKES if one.model == model and name in (one.only or [name])]


def caught(certifier, module, lane, mistake):
    """Climb the rung that names ``mistake`` with a module that makes it; (rung, what it says).

    Should that one miss it, the others are climbed in order; (None, "") if nobody notices.
    """
    with tempfile.TemporaryDirectory() as folder:
        wrong = mistake.make(module, folder)
        for rung in [mistake.rung] + [one for one in certifier.rungs if one != mistake.rung]:
            certifier.take(wrong, lane)  # with models that no other rung has trained
            result = certifier.climb(rung, stop_early=True)
            told = result["detail"].startswith("ValueError: every image")  # by the proof itself
            if result["what"] == "ran" and not (mistake.raises or told):
                raise ValueError(
                    "%s is no mistake but broken: %s" % (mistake.name, result["detail"])
                )
            if not result["passed"]:
                return rung, result["detail"]
    return None, ""


def plant(certifier, module, mistakes, report):
    """{mistake: [rung that names it, rung that caught it]} of all, planted in lane same."""
    found = OrderedDict()
    for mistake in mistakes:
        rung, detail = caught(certifier, module, "same", mistake)
        report(mistake, rung, detail)
        found[mistake.name] = [mistake.rung, rung]
    return found
