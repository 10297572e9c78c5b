"""The rungs as far as files can climb them: with the questions that can be written down at once."""

from collections import OrderedDict

import numpy as np

from common.challenge.script import Stale
from common.proof import probes
from common.proof.check import Check
from common.proof.rungs import Certifier
from common.system.errors import InputError


class NotAnswered(Exception):
    """An answer that a check needs is not there; the message is its name."""


class Examiner(Certifier):
    """Climbs with a module that is a record of questions or of answers.

    What a certificate asks besides depends on what was answered before: the updates after many
    steps, whether two models disturb each other, and whether one goes on where it stood.
    """

    def _late(self, model):
        return ()

    def _other_model(self):
        return None

    def _two_models(self, other):
        return ()

    def _interlude(self, model, images):
        x, _ = self._load(images, self.task.none(len(images)))
        self.module.interlude(model, x)

    def _raised(self, error):
        if isinstance(error, Stale):
            raise error
        if isinstance(error, NotAnswered):
            self.module.missing.append(str(error))  # in each rung that stops at it
            return Check("not answered", 0, 0)
        return super()._raised(error)

    def _first_layer_off(self, images):
        try:
            return super()._first_layer_off(images)
        except NotAnswered:
            return "the scores of the models layer_... tell which layer"

    def choose(self, chosen):
        """Take these images, {key: numbers}, for those that are near no kink."""
        for key, numbers in chosen.items():
            if max(numbers) >= len(self.oracle.images):
                raise InputError("chosen for %s: there is no image %d" % (key, max(numbers)))
            self.oracle.chosen[key] = np.array(numbers, int)

    def ask_for_layers(self):
        """Ask for what ``_first_layer_off`` compares, of all layers."""
        oracle = self.oracle
        for layer in [None] + list(probes.layers(self.model)):
            weights = probes.up_to(self.model, layer, oracle.biased)
            self._scores(self._build(oracle.gradient_hp, weights), oracle.test_images[:64])

    def examine(self, module, report=lambda rung: None):
        """Climb all rungs; a dict of JSON values.

        A rung's "missing" is what was asked for and not answered; without it nothing is proven:
        "passed" is None where the other answers are right.
        """
        self.take(module, "same")
        rungs = []
        for rung in self.rungs:
            module.missing = []
            result = self.climb(rung)
            result["missing"] = sorted(set(module.missing))
            if result["missing"] and result["passed"]:
                result.update(passed=None, error=None)
            if result["missing"] and rung == "trajectory":
                self.losses["framework"] = None  # of which some are the reference's
            rungs.append(result)
            report(result)
        # Weights that come back as they were given prove nothing by themselves.
        verdicts = [rung["passed"] for rung in rungs if rung["rung"] != "weights"]
        verdicts += [False for rung in rungs if rung["passed"] is False]
        return OrderedDict(
            model=self.model.name,
            passed=False not in verdicts and True in verdicts,
            whole=not any(rung["missing"] for rung in rungs),
            rungs=rungs,
            losses=self.losses,
            named=self.conventions._asdict(),
        )
