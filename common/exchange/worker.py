"""An exchange's part in a framework's environment, in three processes.

give     train some steps; save the weights in each of the framework's own formats
restore  read each of these files, and compare it with the trained weights; write ONNX
take     load every framework's weights; save them, read them back, and predict
"""

import os
import sys

import numpy as np

import frameworks
from common import networks
from common.data import batches
from common.networks import weights as canonical
from common.networks.model import TOKENS, VALUES
from common.proof import tasks
from common.run import weight_files
from common.system import commands, machine, modules
from common.system.errors import InputError
from common.system.files import atomic_write, write_json

STEPS = ("give", "restore", "take")
TRAINING_STEPS = 20
IMAGES = 1000  # to predict, at most


def observations(model):
    """(training images, their targets, images to predict), the same for all frameworks."""
    task, size = tasks.of(model), model.hp.batch_size
    images, targets = task.observations(TRAINING_STEPS * size, 0)
    return images, targets, task.observations(predicted(model), 1)[0]


def predicted(model):
    """How many observations each framework predicts; fewer where each needs many calls."""
    return IMAGES if in_one_call(model) else tasks.of(model).predicted


def in_one_call(model):
    """Whether one call of the network predicts; otherwise it goes on from its own outputs."""
    return model.task not in (TOKENS, VALUES)


class Worker:
    """One framework's module, and the exchange's folder.

    The folder has ``NAME/trained.npz``, the canonical weights after training; NAME's own files;
    ``NAME/restored.npz``, the weights read from these; ``NAME/network.onnx``; and
    ``TAKER/NAME-scores.npz``.
    """

    def __init__(self, name, folder, model, threads):
        self.name, self.folder, self.description = name, folder, model
        self.endings = frameworks.ENVIRONMENTS[name].endings or (".npz",)
        machine.limit_threads(threads)
        self.module = modules.load(name, model.name)
        # A seed per environment, so that no two have the same weights.
        self.seed = list(frameworks.ENVIRONMENTS).index(name)
        self.settings = self.module.configure("same", threads, self.seed)

    def build(self, weights):
        """(module, model) with these weights."""
        hp = self.description.hp
        network = self.module.symbol(self.settings, hp)
        return self.module, self.module.loss(network, self.settings, hp, weights)

    def path(self, *parts):
        """A path in the exchange's folder."""
        return os.path.join(self.folder, *parts)

    def own(self, ending):
        """The path of the framework's own file with this ending."""
        return self.path(self.name, "weights" + ending)

    def read(self, path):
        """A file's weights, in canonical form."""
        return weight_files.read(self.description, self.name, path, self.build)

    def give(self):
        """Train and save."""
        _, model = self.build(self.description.initialize(self.description.shapes, self.seed))
        images, targets, _ = observations(self.description)
        x, y = self.module.load(images, targets, self.settings)
        size = self.description.hp.batch_size
        for _ in self.module.train(model, batches.batches(x, y, size, self.seed, 0)):
            pass
        trained = self.module.weights(model)
        canonical.save(self.description, self.path(self.name, "trained.npz"), trained)
        for ending in self.endings:
            weight_files.write(self.description, self.name, self.own(ending), model, trained)

    def restore(self):
        """Read the saved files; InputError if a bit differs."""
        trained = canonical.load(self.description, self.path(self.name, "trained.npz"))
        for ending in self.endings:
            restored = self.read(self.own(ending))
            self.compare(trained, restored, "weights%s came back changed" % ending)
        canonical.save(self.description, self.path(self.name, "restored.npz"), restored)
        if frameworks.ENVIRONMENTS[self.name].onnx and in_one_call(self.description):
            _, model = self.build(restored)
            images = observations(self.description)[2][:2]
            x, _ = self.module.load(images, tasks.of(self.description).none(2), self.settings)
            weight_files.export(self.name, self.path(self.name, "network.onnx"), model, x)

    def take(self, givers):
        """Load each giver's weights; save them, read them back, predict."""
        task, images = tasks.of(self.description), observations(self.description)[2]
        x, _ = self.module.load(images, task.none(len(images)), self.settings)
        for giver in givers:
            weights = canonical.load(self.description, self.path(giver, "restored.npz"))
            _, model = self.build(weights)
            scores = task.given(np.asarray(self.module.predict(model, x)))
            path = self.path(self.name, "of-%s%s" % (giver, self.endings[0]))
            weight_files.write(self.description, self.name, path, model, weights)
            self.compare(weights, self.read(path), "%s's weights came back changed" % giver)
            with atomic_write(self.path(self.name, giver + "-scores.npz")) as file:
                np.savez(file, scores=scores)

    def compare(self, expected, weights, fault):
        """InputError unless both are equal, bit for bit."""
        changed = [name for name, w in expected.items() if w.tobytes() != weights[name].tobytes()]
        if changed:
            raise InputError("%s: %s: %s" % (self.name, fault, ", ".join(changed)))


def parse(arguments):
    """The command line, which the exchange made."""
    parser = commands.OneLineParser(prog="python -m common.exchange.worker")
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("name")
    parser.add_argument("folder")
    parser.add_argument("givers", nargs="*")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser.parse_args(arguments)


def command(arguments):
    """Exit code 0 if all weights came back bit for bit."""
    options = parse(arguments)
    model = networks.find(options.model)
    worker = Worker(options.name, options.folder, model, options.threads)
    if options.step == "take":
        worker.take(options.givers)
    else:
        getattr(worker, options.step)()
    versions = machine.versions(modules.find(options.name).package)
    write_json(worker.path(options.name, "versions.json"), versions)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
