"""Replay answers in place of a module: look up the answers to the certifier's questions.

The NumPy module's own answer replaces a missing one, so that the others can still be judged. This
does not happen in a rung that compares answers with each other.
"""

from collections.abc import Mapping

import numpy as np

from common.challenge import protocol
from common.challenge.answer_certifier import NotAnswered
from common.challenge.protocol import Stale

LOCATING = "layer_"  # the beginning of the names of models that locate a wrong layer
# Prefixes of answers that are judged independently of others.
JUDGED_ALONE = ("gradient/", "small/", "bright/", "uneven/", "momentum/", "schedule/")
JUDGED_ALONE += ("generation/", "recipe/losses", "evaluate")


class Weights(Mapping):
    """{tensor: array}, looked up only when it is read, because a rung may not need all."""

    def __init__(self, names, answer):
        self.names, self.answer = names, answer

    def __getitem__(self, name):
        return self.answer(name).copy()

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)


class Model:
    """A model of the challenge, with the number of actions and steps done."""

    def __init__(self, entry):
        self.entry = entry
        self.action, self.steps = 0, 0

    def next(self, kind):
        """The next action of this kind; others in between are skipped."""
        for number, action in enumerate(self.entry["do"][self.action :], self.action + 1):
            if kind in action:
                self.action = number
                return action
        raise Stale()


class Replay:
    """A module with the contract's functions, which replay the answers."""

    def __init__(self, challenge, arrays, answers, description, threads):
        self.challenge, self.arrays, self.answers = challenge, arrays, answers
        self.description, self.threads, self.built = description, threads, set()
        self.missing, self.stand_ins = [], {}
        self.locating = False  # whether the models to build are those that locate a wrong layer

    def _answer(self, name):
        if name in self.answers:
            return self.answers[name]
        self.missing.append(name)
        if not name.startswith(JUDGED_ALONE):
            raise NotAnswered(name)
        if name not in self.stand_ins:
            models = self.challenge["models"]
            own = [entry for entry in models if name.startswith(entry["name"] + "/")]
            part = dict(self.challenge, models=own)
            module = protocol.reference(self.challenge, self.description)
            self.stand_ins.update(
                protocol.carry_out(
                    part, self.arrays, self.description, module, "same", self.threads
                )
            )
        return self.stand_ins[name]

    def _check(self, name, array):
        if not np.array_equal(self.arrays[name], array):
            raise Stale()

    def configure(self, lane, threads, seed):
        layout = {1: "NT", 2: "NTC", 3: "NCHW"}[len(self.description.observation)]
        settings = {"device": "unknown", "layout": layout, "precision": "float32"}
        settings.update(threads=threads, seed=seed, not_in_force=[])
        return dict(settings, **self.challenge["named"])

    def load(self, observations, targets, settings):
        return observations, targets

    def symbol(self, settings, hp):
        return settings, hp

    def loss(self, network, settings, hp, weights):
        hyperparameters = dict(hp._asdict(), dropout=list(hp.dropout))
        for entry in self.challenge["models"]:
            if (
                entry["name"] not in self.built
                and entry["name"].startswith(LOCATING) == self.locating
                and entry["seed"] == settings["seed"]
                and entry["hyperparameters"] == hyperparameters
                and all(
                    np.array_equal(self.arrays.get(name), weights[tensor])
                    for tensor, name in entry["weights"].items()
                )
            ):
                self.built.add(entry["name"])
                return Model(entry)
        raise Stale()

    def train(self, model, batches):
        batches = list(batches)
        if not batches:
            return
        action = model.next("train")
        for number, ((x, y), (observations, targets)) in enumerate(zip(action["train"], batches)):
            self._check(x, observations)
            self._check(y, targets)
            model.steps += 1
            yield self._answer(action["answer"])[number] if "answer" in action else np.nan

    def weights(self, model):
        name = "%s/after%d" % (model.entry["name"], model.steps)
        return Weights(self.description.shapes, lambda t: self._answer("%s/%s" % (name, t)))

    def predict(self, model, x):
        action = model.next("predict")
        self._check(action["predict"], x)
        return self._answer(action["answer"])

    def generate(self, model, x):
        action = model.next("generate")
        self._check(action["generate"], x)
        return self._answer(action["answer"])

    def interlude(self, model, x):
        self._check(model.next("predict")["predict"], x)

    def evaluate(self, scores, targets):
        question = self.challenge["evaluate"]
        self._check(question["scores"], scores)
        self._check(question["targets"], targets)
        return float(self._answer(question["answer"]))
