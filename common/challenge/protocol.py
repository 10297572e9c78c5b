"""A challenge: models to build and to train, and scores to compute.

It is JSON of the form in ``challenge.schema.json``. Its ``models`` are built one after the other.
Each has a name, the seed of its dropout, its hyperparameters, the names of its weights' arrays,
and ``do``, a list of actions:

    {"predict": observations, "answer": name}          answer with the scores; without "answer",
                                                       predict because it may change state
    {"generate": texts, "answer": name}                answer with the scores of the texts' tokens,
                                                       and of those that continue their first halves
    {"weights": name}                                  answer with the weights
    {"train": [[observations, targets], ...],          train on these batches; answer with the loss
     "answer": name, "weights": {step: name}}          of each step if there is an "answer", and
                                                       with the weights after some steps

Names are names of arrays in the challenge or in the answer; the name of weights is a prefix,
``NAME/TENSOR``. ``named`` has the conventions, and ``recipe`` the network's own hyperparameters,
with its rates of dropout. ``chosen`` has the images that are near no kink on the machine that wrote
the challenge, because rounding on another machine might choose others.
"""

import hashlib
import json
import os
from collections import OrderedDict

import numpy as np

from common import networks
from common.networks.model import CLASSES
from common.proof import probes, tasks
from common.proof.reference import CHOICES, applicable, conventions_of
from common.system import modules
from common.system.errors import InputError
from common.system.modules import replaced

SCHEMA_VERSION = 3
SCHEMA = os.path.join(os.path.dirname(__file__), "challenge.schema.json")
COMPARED = ("probe", "recipe")  # models whose losses are compared
DIAGNOSED = ("gradient", "bright", "momentum")  # models that the diagnosis needs
NO_CHALLENGE = "%s is not a challenge's script"
STALE = "the challenge was written by another version of this project"


class Stale(InputError):
    """The challenge's questions are not those of the rungs."""

    def __init__(self):
        super().__init__(STALE)


class Arrays(OrderedDict):
    """{name: array}; equal arrays are stored once, under the first name."""

    def __init__(self):
        super().__init__()
        self.names = {}

    def put(self, name, array):
        """Store an array, and return its name, or that of an equal array."""
        array = np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest())
        if key not in self.names:
            self.names[key] = name
            self[name] = array
        return self.names[key]


class Recorded:
    """A model of the NumPy module, and its recorded actions."""

    def __init__(self, name, settings, model):
        self.name, self.settings, self.model = name, settings, model
        self.do, self.steps, self.counts = [], 0, {}

    def name_of_next(self, kind):
        """A name for the next array of a kind."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return "%s/%s%d" % (self.name, kind, self.counts[kind])


class Recorder:
    """The NumPy module, which records all calls of the contract's functions as a challenge."""

    def __init__(self, description, conventions, names):
        self.description, self.conventions, self.names = description, conventions, iter(names)
        self.module = modules.load("numpy", description.name)
        self.none = tasks.of(description).none
        self.arrays, self.models, self.evaluated = Arrays(), [], None
        self.missing = []

    def configure(self, lane, threads, seed):
        return dict(self.module.configure(lane, threads, seed), **self.conventions._asdict())

    def load(self, observations, targets, settings):
        return observations, targets

    def symbol(self, settings, hp):
        return self.module.symbol(settings, hp)

    def loss(self, network, settings, hp, weights):
        name = next(self.names)
        recorded = Recorded(name, settings, self.module.loss(network, settings, hp, weights))
        parts = [(tensor, self.arrays.put(name + "/" + tensor, w)) for tensor, w in weights.items()]
        self.models.append(
            OrderedDict(
                name=name,
                seed=settings["seed"],
                hyperparameters=hp._asdict(),
                weights=OrderedDict(parts),
                do=recorded.do,
            )
        )
        return recorded

    def train(self, recorded, batches):
        batches = list(batches)
        if not batches:
            return
        action = OrderedDict(train=[], weights=OrderedDict())
        if recorded.name in COMPARED:
            action["answer"] = recorded.name_of_next("losses")
        recorded.do.append(action)
        task = self.description.task
        for observations, targets in batches:
            recorded.steps += 1
            part = "%s/step%d_" % (recorded.name, recorded.steps)
            action["train"].append(
                [
                    self.arrays.put(part + task.observations, observations),
                    self.arrays.put(part + task.targets, targets),
                ]
            )
            batch = self.module.load(observations, targets, recorded.settings)
            yield from self.module.train(recorded.model, [batch])

    def weights(self, recorded):
        name = "%s/after%d" % (recorded.name, recorded.steps)
        last = recorded.do[-1] if recorded.do else {}
        if name not in recorded.counts and self._read(recorded):
            recorded.counts[name] = 1
            if "train" in last:
                last["weights"][str(len(last["train"]))] = name
            else:
                recorded.do.append(OrderedDict(weights=name))
        return self.module.weights(recorded.model)

    def _read(self, recorded):
        """Whether a rung reads a model's weights now.

        The probe model's weights show masks and, after its first step, the gradient of unlikely
        labels.
        """
        if recorded.name != "probe" or "dropout" in self.description.traits:
            return True
        return self.description.task.name == CLASSES.name and recorded.steps == 1

    def _predict(self, recorded, x, kind="predict"):
        name = recorded.name_of_next(self.description.task.observations)
        name = self.arrays.put(name, x)
        recorded.do.append(OrderedDict([(kind, name)]))
        x, _ = self.module.load(x, self.none(len(x)), recorded.settings)
        return self.module.predict(recorded.model, x)

    def predict(self, recorded, x):
        scores = self._predict(recorded, x)
        recorded.do[-1]["answer"] = recorded.name_of_next(self.description.task.outputs)
        return scores

    def generate(self, recorded, x):
        scores = self._predict(recorded, x, "generate")
        recorded.do[-1]["answer"] = recorded.name_of_next("generated")
        return scores

    def interlude(self, recorded, x):
        self._predict(recorded, x)

    def evaluate(self, scores, targets):
        self.evaluated = OrderedDict(
            scores=self.arrays.put("evaluate/" + self.description.task.outputs, scores),
            targets=self.arrays.put("evaluate/" + self.description.task.targets, targets),
            answer="evaluate",
        )
        return self.module.evaluate(scores, targets)


def names(description):
    """The models' names, in the order in which the rungs build them."""
    again = ["probe_again", "probe_other_seed"] if "dropout" in description.traits else []
    layers = ["layer_none"] + ["layer_" + layer for layer in probes.layers(description)]
    split_relus = ["uneven"] if "batchnorm" in description.traits else []
    small = ["small"] if "attention" in description.traits else []
    scheduled = ["schedule"] if "schedule" in description.traits else []
    generation = ["generation"] if "attention" in description.traits else []
    first = ["probe", "gradient"] + small + ["bright"] + split_relus + ["momentum"] + scheduled
    return first + ["recipe"] + again + generation + layers


def record(certifier, conventions, report):
    """(challenge, arrays, verdict on the NumPy module) from a certifier's questions.

    report: called with the result of each rung.
    """
    description = certifier.model
    recorder = Recorder(description, conventions, names(description))
    judged = certifier.examine(recorder, report)
    certifier.ask_for_layers()
    challenge = OrderedDict(
        schema=SCHEMA_VERSION,
        model=description.name,
        named=conventions._asdict(),
        recipe=description.hp._asdict(),
        chosen=OrderedDict(
            (key, [int(number) for number in numbers])
            for key, numbers in certifier.oracle.chosen.items()
        ),
        models=recorder.models,
        evaluate=recorder.evaluated,
        arrays=OrderedDict((name, list(array.shape)) for name, array in recorder.arrays.items()),
    )
    return challenge, recorder.arrays, judged


def read(path):
    """(challenge, description) from a file; InputError unless it can be carried out."""
    try:
        with open(path) as file:
            challenge = json.load(file, object_pairs_hook=OrderedDict)
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror))
    except (ValueError, RecursionError):
        raise InputError(NO_CHALLENGE % path)
    try:
        return challenge, _description(path, challenge)
    except (ValueError, LookupError, TypeError, AttributeError):
        if _jsonschema():
            raise  # a bug: jsonschema has accepted the challenge's form
        raise InputError(NO_CHALLENGE % path)


def _description(path, challenge):
    """The network of a challenge; InputError unless all parts of the challenge fit it."""
    with open(SCHEMA) as file:
        _validate(path, challenge, json.load(file))
    description = networks.find(challenge["model"])
    _validate(path, challenge, schema_of(description))
    for problem in problems(challenge, description):
        raise InputError("%s: %s" % (path, problem))
    return description


def _jsonschema():
    """The package jsonschema; None if it is not installed, as in rosetta.pyz."""
    try:
        import jsonschema
    except ImportError:
        return None
    return jsonschema


def _validate(path, challenge, schema):
    """InputError unless a challenge has the form of a schema, if jsonschema is installed.

    Without jsonschema only the version is checked.
    """
    jsonschema = _jsonschema()
    if not jsonschema:
        if not isinstance(challenge, dict) or challenge.get("schema") != SCHEMA_VERSION:
            raise InputError("%s: %s" % (path, STALE))
        return
    try:
        jsonschema.validate(challenge, schema)
    except jsonschema.ValidationError as error:
        place = "/".join(str(part) for part in error.path)
        if place == "schema":
            raise InputError("%s: %s" % (path, STALE))
        message = (place and place + ": ") + error.message[:100]
        raise InputError((NO_CHALLENGE + ": %s") % (path, message))


def schema_of(description):
    """The part of the schema that depends on the network or on the known conventions."""

    def exactly(properties):
        return {
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def form(value):
        if isinstance(value, tuple):
            return {"type": "array", "minItems": len(value), "maxItems": len(value)}
        return {"type": "number"}

    hyperparameters = {key: form(value) for key, value in description.hp._asdict().items()}
    model = {
        "hyperparameters": exactly(hyperparameters),
        "weights": exactly({tensor: {"type": "string"} for tensor in description.shapes}),
    }
    conventions = {key: {"enum": list(choices)} for key, choices in CHOICES._asdict().items()}
    return {
        "properties": {
            "named": exactly(conventions),
            "recipe": exactly(hyperparameters),
            "models": {"items": {"properties": model}},
        }
    }


def problems(challenge, description):
    """Yield problems that no schema can find: missing names, and wrong shapes."""
    # In rosetta.pyz, which has no jsonschema, a missing part is a KeyError here.
    if challenge["evaluate"]["answer"] in challenge["arrays"]:
        yield "evaluate/answer: it is an array of this challenge"
    for key, numbers in challenge["chosen"].items():
        if not numbers:
            yield "chosen/%s: it is empty" % key
    names = [entry["name"] for entry in challenge["models"]]
    if len(set(names)) < len(names):
        yield "two models have one name"
    for name in DIAGNOSED:
        if name not in names:
            yield "there is no model %s" % name
    arrays, task = challenge["arrays"], tasks.of(description)
    observation = list(description.observation)
    target = list(task.none(1).shape[1:])
    uses = [(challenge["evaluate"][key], None) for key in ("scores", "targets")]
    for entry in challenge["models"]:
        for tensor, shape in description.shapes.items():
            name = entry["weights"][tensor]
            if arrays.get(name) != list(shape):
                yield "%s: %r are no weights %s" % (entry["name"], name, tensor)
        for action in entry["do"]:
            uses += [
                (action[kind], observation) for kind in ("predict", "generate") if kind in action
            ]
            for x, y in action.get("train", ()):
                uses += [(x, observation), (y, target)]
                if arrays.get(x, [0])[:1] != arrays.get(y, [0])[:1]:
                    yield "%s and %s are not of one batch" % (x, y)
    for name, shape in uses:
        if name not in arrays:
            yield "%r is not an array of this challenge" % name
        elif shape is not None and (not arrays[name] or arrays[name][1:] != shape):
            yield "%s has shape %s, not (n, %s" % (name, arrays[name], str(shape)[1:-1] + ")")


def entry_of(challenge, name):
    """The challenge's model of this name."""
    return next(entry for entry in challenge["models"] if entry["name"] == name)


def names_of_losses(challenge):
    """The names of the answers with the recipe model's losses, one for each pass."""
    do = entry_of(challenge, "recipe")["do"]
    return [action["answer"] for action in do if "answer" in action and "train" in action]


def reference(challenge, description):
    """The NumPy module, with the challenge's conventions."""
    module = modules.load("numpy", description.name)

    def configure(lane, threads, seed):
        return dict(module.configure(lane, threads, seed), **challenge["named"])

    return replaced(module, configure=configure)


def expected(challenge, arrays, description):
    """{name: shape} of every requested answer."""
    task = tasks.of(description)
    shapes = OrderedDict()
    for entry in challenge["models"]:
        for action in entry["do"]:
            taken = [action["weights"]] if set(action) == {"weights"} else []
            if "train" in action:
                if "answer" in action:
                    shapes[action["answer"]] = (len(action["train"]),)
                taken = action["weights"].values()
            elif "generate" in action:
                shapes[action["answer"]] = (len(arrays[action["generate"]]),) + task.returned
            elif "answer" in action:
                shapes[action["answer"]] = (len(arrays[action["predict"]]),) + tuple(task.outputs)
            for name in taken:
                for tensor, shape in description.shapes.items():
                    shapes["%s/%s" % (name, tensor)] = shape
    shapes[challenge["evaluate"]["answer"]] = ()
    return shapes


def build(entry, arrays, description, module, lane, threads):
    """(model, settings) for one of the challenge's models, built by ``module``."""
    settings = module.configure(lane, threads, entry["seed"])
    hp = type(description.hp)(**entry["hyperparameters"])
    hp = hp._replace(dropout=tuple(hp.dropout))
    weights = OrderedDict((t, arrays[name].copy()) for t, name in entry["weights"].items())
    return module.loss(module.symbol(settings, hp), settings, hp, weights), settings


def option(key, choice):
    """The option that names a convention, as a shell takes it."""
    return "--named %s" % ("'%s=%s'" if " " in choice else "%s=%s") % (key, choice)


def carry_out(challenge, arrays, description, module, lane, threads):
    """{name: array} of a module's answers; InputError if it has other conventions."""
    answers, task = OrderedDict(), tasks.of(description)

    def take(name, weights):
        for tensor, w in weights.items():
            answers["%s/%s" % (name, tensor)] = w

    for entry in challenge["models"]:
        model, settings = build(entry, arrays, description, module, lane, threads)
        has = conventions_of(settings)._asdict()
        has = [(key, has[key]) for key in applicable(description)]
        other = [option(key, choice) for key, choice in has if challenge["named"][key] != choice]
        if other:
            says = "its conventions are others; write the challenge with %s"
            raise InputError(says % " ".join(other))
        for action in entry["do"]:
            if "predict" in action or "generate" in action:
                observations = arrays[action.get("predict", action.get("generate"))]
                x, _ = module.load(observations.copy(), task.none(len(observations)), settings)
                scores = module.predict(model, x)
                if "answer" in action:
                    answers[action["answer"]] = (
                        scores if "generate" in action else task.given(scores)
                    )
            elif "train" in action:
                batches = [
                    module.load(arrays[x].copy(), arrays[y].copy(), settings)
                    for x, y in action["train"]
                ]
                losses = []
                for number, loss in enumerate(module.train(model, batches), 1):
                    losses.append(float(loss))
                    if str(number) in action["weights"]:
                        take(action["weights"][str(number)], module.weights(model))
                if "answer" in action:
                    answers[action["answer"]] = np.array(losses, np.float32)
            else:
                take(action["weights"], module.weights(model))
    question = challenge["evaluate"]
    figure = module.evaluate(arrays[question["scores"]], arrays[question["targets"]])
    answers[question["answer"]] = np.array(figure, np.float32)
    return answers
