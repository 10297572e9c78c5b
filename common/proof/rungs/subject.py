"""The module under test, and the training runs that several rungs use.

A framework may take long to build a model, so the rungs share a few:

gradient model   weights, scores, and a step without momentum and with learning rate 1
whole model      the same step with the recipe's batch size
bright model     the same with a fixed output, on images 64 times as bright: a step without gradient
                 (with Adam, sixty), and one with other labels
split model      with batch normalisation only: a step in which each ReLU is open for some images
momentum model   other hyperparameters: three steps
long model       an optimiser with a long memory: 72 steps
recipe model     the recipe's own hyperparameters: 20 steps, then scores
probe model      hand-made weights that reveal the order of batches and the dropout masks; built
                 again with the same seed and with another
"""

import numpy as np

from common import networks
from common.networks import hyperparameters
from common.proof import probes
from common.proof.check import Check
from common.proof.oracle import MOMENTUM_BATCH, PROBE_BATCH, SEED, STEPS
from common.proof.reference import conventions_of, distance
from common.proof.updates import compared

COUNTS = (15, 3, 12, 1, 6)  # observations with a loss, in each batch that shows the order
SEEN = 9  # observations with a loss in a probe batch, for a network without dropout
PROBE_RATE = 2.0**-20  # the probe model's learning rate


def copied(weights):
    """A copy of the weights, which a module may change."""
    return {name: w.copy() for name, w in weights.items()}


class Subject:
    """A module in one lane. Each run is made once; all rungs that need it share the result.

    follows: whether later questions may depend on earlier answers.
    """

    follows = True

    def __init__(self, oracle, module, lane):
        self.oracle, self.module, self.lane = oracle, module, lane
        self.model, self.task = oracle.model, oracle.task
        self.masks = networks.part(self.model.name, "masks")  # None without dropout
        self.seen = self.masks.SEEN if self.masks else SEEN
        self.settings = module.configure(lane, oracle.threads, SEED)
        self.conventions = conventions_of(self.settings)
        self.losses = {}  # the trajectory's, for the certificate
        self._runs = {}

    def build(self, hp, weights):
        """A model with a copy of these weights."""
        network = self.module.symbol(self.settings, hp)
        return self.module.loss(network, self.settings, hp, copied(weights))

    def load(self, images, labels):
        """A batch after the module's ``load``."""
        return self.module.load(images.copy(), labels.copy(), self.settings)

    def scores(self, model, images):
        """A model's prediction."""
        return self.task.given(self.predict(model, images))

    def predict(self, model, images):
        """All that a model's ``predict`` returns."""
        given = images.copy()
        x, _ = self.module.load(given, self.task.none(len(images)), self.settings)
        before = given.copy()
        outputs = self.module.predict(model, x)
        if not np.array_equal(given, before):
            raise ValueError("predict() writes into the observations that it is given")
        return outputs

    def interlude(self, model, images):
        """Predict, as between two epochs, in case prediction leaves state behind."""
        self.scores(model, images)

    def train(self, model, pairs):
        """Yield (loss, weights) after each step of one pass; its batches can be read once only."""
        for loss in self.module.train(model, (self.load(x, y) for x, y in pairs)):
            yield float(loss), self.module.weights(model)

    def detail(self, explain, *arguments):
        """A failed check's sentence, which ``explain(subject, ...)`` makes from further models."""
        return explain(self, *arguments)

    def _once(self, name, run):
        """The result of ``run()``, computed once; if it raised, every call raises the error."""
        if name not in self._runs:
            try:
                self._runs[name] = run()
            except Exception as error:
                self._runs[name] = error
        if isinstance(self._runs[name], Exception):
            raise self._runs[name]
        return self._runs[name]

    # Checks that several rungs make.

    def scores_check(self, what, exact, allowed, scores):
        """Scores have the right shape and type, and are within the multiple of ``allowed``."""
        tolerance = self.oracle.multiple * allowed
        if scores.shape != exact.shape:
            detail = "predict() gave %s, not %s" % (scores.shape, exact.shape)
            return Check(what, np.inf, tolerance, detail)
        if scores.dtype != np.float32:
            detail = "predict() gave %s, not float32" % scores.dtype
            return Check(what, np.inf, tolerance, detail)
        return Check(what, distance(exact, scores), tolerance)

    def updates(self, what, start, ours, step):
        """A check for each tensor, in backward order: the error began at the first one off."""
        for name, error, allowed, factor in compared(start, ours, step, self.oracle.multiple):
            detail = "%s%s: its update is %.6g times the reference's" % (what, name, factor)
            yield Check(what + name, error, allowed, detail)

    # Runs that several rungs share.

    def gradient_model(self):
        """(the gradient model, the arrays it was built from, which it must not change)."""

        def build():
            weights = copied(self.oracle.biased)
            hp = self.oracle.gradient_hp
            network = self.module.symbol(self.settings, hp)
            return self.module.loss(network, self.settings, hp, weights), weights

        return self._once("gradient model", build)

    def momentum_run(self):
        """(the momentum model, its weights after each of three steps in two passes)."""

        def run():
            pairs = [pair[:2] for pair in self.oracle.momentum_steps(self.conventions)]
            model = self.build(self.oracle.momentum_hp, self.oracle.biased)
            ours = [weights for _, weights in self.train(model, pairs[:2])]
            # As many images as a batch has, so that wrongly kept state would fit.
            self.interlude(model, self.oracle.test_images[:MOMENTUM_BATCH])
            ours += [weights for _, weights in self.train(model, pairs[2:3])]
            return model, ours

        return self._once("momentum", run)

    def recipe_run(self, between=lambda: ()):
        """(the recipe model, its losses in two passes, the checks made in between).

        between: yields checks of another model, made between the passes. They stop at the first
        failure, because a model that another one changed may no longer train.
        """

        def run():
            # The other model exists before this one, and must not disturb it.
            checks = between()
            model = self.build(self.oracle.recipe_hp, self.oracle.weights)
            half = STEPS // 2
            first, second = (
                [self.load(images, labels) for images, labels in part]
                for part in (self.oracle.pairs[:half], self.oracle.pairs[half:])
            )
            # Take all losses before reading the first, like a run that does not wait.
            losses = [float(loss) for loss in list(self.module.train(model, first))]
            results = []
            for check in checks:
                results.append(check)
                if not check.passed:
                    break
            self.interlude(model, self.oracle.test_images)
            losses += [float(loss) for loss in list(self.module.train(model, second))]
            return model, losses, results

        return self._once("recipe", run)

    def probe_hp(self):
        """The probe model's hyperparameters."""
        hp = hyperparameters.plain(self.model.hp, PROBE_BATCH)
        hp = hp._replace(learning_rate=PROBE_RATE)
        return hp._replace(dropout=self.masks.RATES) if "dropout" in self.model.traits else hp

    def probe_batch(self):
        """(images, labels) that reveal the masks; without dropout, that have losses."""
        if "dropout" in self.model.traits:
            return self.masks.batch(self.model, PROBE_BATCH)[1:]
        return self.task.counted(PROBE_BATCH, self.seen)

    def probe_weights(self):
        """The probe model's initial weights."""
        if "dropout" in self.model.traits:
            return self.masks.batch(self.model, PROBE_BATCH)[0]
        return self.task.fixed_output(probes.zeros(self.model))

    def probe(self, seed):
        """The probe model, built with this seed, and its initial weights."""
        settings = self.module.configure(self.lane, self.oracle.threads, seed)
        hp, weights = self.probe_hp(), self.probe_weights()
        network = self.module.symbol(settings, hp)
        return self.module.loss(network, settings, hp, copied(weights)), weights

    def probe_run(self):
        """(losses of two passes, [(weights before, after)] of three mask steps, the model).

        The first pass begins with two of these steps; the batches that show the order follow. The
        third is a pass of its own, after a prediction.
        """

        def run():
            model, weights = self.probe(SEED)
            batch = self.probe_batch()
            ordered = [self.task.counted(PROBE_BATCH, count) for count in COUNTS]
            self.interlude(model, batch[0][:1])
            losses, after = [], [weights]
            loaded = [self.load(*pair) for pair in [batch, batch] + ordered]
            for loss in self.module.train(model, loaded):
                losses.append(float(loss))
                if len(after) < 3:
                    after.append(self.module.weights(model))
            last = self.module.weights(model)
            self.interlude(model, batch[0][:1])
            steps = list(self.train(model, [batch]))
            losses += [loss for loss, _ in steps]
            third = steps[-1][1] if steps else last
            return losses, [(after[0], after[1]), (after[1], after[2]), (last, third)], model

        return self._once("probe", run)
