"""Climb the rungs with an answer in files: every question is asked in advance."""

from collections import OrderedDict

import numpy as np

from common.challenge.protocol import Stale, option
from common.proof import probes
from common.proof.check import Check
from common.proof.oracle import MOMENTUM_BATCH, Training
from common.proof.reference import USUAL
from common.proof.rungs import Certifier
from common.proof.rungs.forward import LOCATED_IMAGES
from common.proof.rungs.subject import Subject
from common.proof.updates import compared
from common.system.errors import InputError

OUT_OF_ORDER = "batches out of order"  # a check of the rung data
NEAR = 0.01  # a factor this close to 1 + momentum or 1 - momentum may come from it
UNCLIPPED = 1024.0  # a norm that no gradient of the schedule model reaches
SCHEDULE_STEPS = 8  # of the schedule model; from the seventh step on, its rate is the lowest


class NotAnswered(Exception):
    """An answer that a check needs is missing; the message is its name."""


class Answers(Subject):
    """A module that records questions, or replays answers.

    It skips a certificate's questions that depend on earlier answers: whether a long run has the
    right updates, whether two models disturb each other, and whether a model continues from where
    it was.
    """

    follows = False

    def updates(self, what, start, ours, step):
        """As in ``Subject``; each check also has the factor of its update."""
        rows = compared(start, ours, step, self.oracle.multiple)
        for check, (_, _, _, factor) in zip(super().updates(what, start, ours, step), rows):
            check.factor = factor
            yield check

    def interlude(self, model, images):
        x, _ = self.load(images, self.task.none(len(images)))
        self.module.interlude(model, x)

    def scores(self, model, images):
        x, _ = self.load(images, self.task.none(len(images)))
        return self.task.given(self.module.predict(model, x))

    def predict(self, model, images):
        x, _ = self.load(images, self.task.none(len(images)))
        return self.module.generate(model, x)

    def schedule_run(self):
        """The weights after the last step of the schedule model."""

        def run():
            pairs = schedule_batches(self.oracle)
            model = self.build(schedule_hp(self.oracle), self.oracle.biased)
            list(self.module.train(model, [self.load(x, y) for x, y in pairs]))
            return self.module.weights(model)

        return self._once("schedule", run)

    def detail(self, explain, images, which=""):
        if which:
            return "the challenge has no questions about single layers of the model small"
        self.module.locating = True
        try:
            return super().detail(explain, images)
        except NotAnswered:
            return "answer the scores of the models layer_... to see which layer"
        finally:
            self.module.locating = False


def schedule_hp(oracle):
    """The momentum model's hyperparameters, with a limit that clips no gradient."""
    return oracle.momentum_hp._replace(clip=UNCLIPPED)


def schedule_batches(oracle):
    """The batches of the schedule model; its steps go beyond the end of the schedule."""
    size = MOMENTUM_BATCH
    starts = range(0, SCHEDULE_STEPS * size, size)
    return [(oracle.images[s : s + size], oracle.labels[s : s + size]) for s in starts]


class AnswerCertifier(Certifier):
    """A certifier for ``Answers``."""

    Subject = Answers

    def raised(self, error):
        if isinstance(error, Stale):
            raise error
        if isinstance(error, NotAnswered):
            self.subject.module.missing.append(str(error))  # for every rung that stops at it
            return Check("not answered", 0, 0)
        return super().raised(error)

    def result(self, rung, checks, worst):
        if rung == "momentum" and "schedule" in self.model.traits:
            checks += self.scheduled()
            worst = max(checks, key=lambda check: check.ratio)
        for check in checks:
            check.detail = self.in_a_ports_words(check)
        found = OrderedDict(super().result(rung, checks, worst), kind=worst.kind)
        if not np.isfinite(found["tolerance"]):  # if weights in the answer are NaN or infinite
            found["tolerance"] = 0.0
        return found

    def scheduled(self):
        """[Check] of the weights after the last step of the schedule model."""
        oracle, subject = self.oracle, self.subject
        references = oracle.references(subject.conventions)
        training = Training(references, schedule_hp(oracle), oracle.biased)
        for pair in schedule_batches(oracle):
            training.train(*pair)
        start, what = oracle.biased, "step %d of a schedule, " % SCHEDULE_STEPS
        try:
            return list(subject.updates(what, start, subject.schedule_run(), training.now()))
        except Exception as error:
            return [self.raised(error)]

    def in_a_ports_words(self, check):
        """A check's detail, for a port that has no settings and may have infinite losses."""
        if check.what in USUAL._fields:
            named = option(check.what, getattr(self.subject.conventions, check.what))
            return "the port does not follow %s, which the challenge names" % named
        if check.what == OUT_OF_ORDER and not check.passed:
            losses, _, _ = self.subject.probe_run()
            if not np.isfinite(losses).all():
                return "a loss is infinite or NaN, where a label's probability rounds to 0"
        if hasattr(check, "factor") and "momentum" in self.model.traits:
            momentum = self.oracle.momentum_hp.momentum
            if min(abs(check.factor - 1 - momentum), abs(check.factor - 1 + momentum)) > NEAR:
                check.hint = ""  # it does not explain this factor
        return check.detail

    def choose(self, chosen):
        """Use these images, {key: numbers}, which are near no kink."""
        for key, numbers in chosen.items():
            if max(numbers) >= len(self.oracle.images):
                raise InputError("chosen for %s: there is no image %d" % (key, max(numbers)))
            self.oracle.chosen[key] = np.array(numbers, int)

    def ask_for_layers(self):
        """Ask for the scores that ``forward.first_layer_off`` compares, for all layers."""
        oracle = self.oracle
        for layer in [None] + list(probes.layers(self.model)):
            weights = probes.up_to(self.model, layer, oracle.biased)
            model = self.subject.build(oracle.gradient_hp, weights)
            self.subject.scores(model, oracle.test_images[:LOCATED_IMAGES])

    def examine(self, module, report=lambda rung: None):
        """Climb all rungs; return a dict of JSON values.

        A rung's "missing" lists its missing answers. A rung with missing answers is not proven:
        "passed" is None even if its other answers are right.
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
                self.subject.losses["framework"] = None  # some losses are the reference's
            rungs.append(result)
            report(result)
        # Weights that come back unchanged are no proof on their own.
        verdicts = [rung["passed"] for rung in rungs if rung["rung"] != "weights"]
        verdicts += [False for rung in rungs if rung["passed"] is False]
        return OrderedDict(
            model=self.model.name,
            passed=False not in verdicts and True in verdicts,
            whole=not any(rung["missing"] for rung in rungs),
            rungs=rungs,
            losses=self.subject.losses,
            named=self.subject.conventions._asdict(),
        )
