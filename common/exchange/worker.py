"""What an exchange does in a framework's own environment: give weights, read them, take others'.

give     train some steps; save the weights in each of the framework's own files
restore  in another process: read each of these files, and compare with what was saved; write ONNX
take     put in the weights that each of the others gave; save, read them again, and predict
"""

import os
import sys

import numpy as np

import frameworks
from common import networks
from common.data import batches
from common.networks import weights as canonical
from common.proof import tasks
from common.run import weight_files
from common.system import commands, machine, modules
from common.system.errors import InputError
from common.system.files import atomic_write, write_json

STEPS = 20  # of training
IMAGES = 1000  # that are predicted


def observations(description):
    """(those that are trained on and their targets, those that are predicted), for all alike."""
    task, size = tasks.of(description), description.hp.batch_size
    images, targets = task.observations(STEPS * size, 0)
    return images, targets, task.observations(IMAGES, 1)[0]


class Worker:
    """One framework's module, and the folder in which all of an exchange lies.

    In the folder: ``NAME/trained.npz``, the canonical weights after training; NAME's own files;
    ``NAME/restored.npz``, what was read from them; ``NAME/network.onnx``;
    ``TAKER/NAME-scores.npz``.
    """

    def __init__(self, options):
        self.name, self.folder = options.name, options.folder
        self.description = networks.find(options.model)
        self.endings = frameworks.ENVIRONMENTS[self.name].endings or (".npz",)
        machine.limit_threads(options.threads)
        self.module = modules.load(self.name, self.description.name)
        # The number of the environment: no two give the same weights.
        self.seed = list(frameworks.ENVIRONMENTS).index(self.name)
        self.settings = self.module.configure("same", options.threads, self.seed)

    def build(self, weights):
        """(module, model) with these weights."""
        hp = self.description.hp
        network = self.module.symbol(self.settings, hp)
        return self.module, self.module.loss(network, self.settings, hp, weights)

    def path(self, *parts):
        """A path in the exchange's folder."""
        return os.path.join(self.folder, *parts)

    def own(self, ending):
        """Where the framework's own file of this ending lies."""
        return self.path(self.name, "weights" + ending)

    def read(self, path):
        """Canonical weights of a file."""
        return weight_files.read(self.description, self.name, path, self.build)

    def give(self):
        """Train, and save."""
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
        """Read what was saved; InputError if a bit differs."""
        trained = canonical.load(self.description, self.path(self.name, "trained.npz"))
        for ending in self.endings:
            found = self.read(self.own(ending))
            self.compare(trained, found, "weights%s came back changed" % ending)
        canonical.save(self.description, self.path(self.name, "restored.npz"), found)
        if frameworks.ENVIRONMENTS[self.name].onnx:
            _, model = self.build(found)
            two = observations(self.description)[2][:2]
            x, _ = self.module.load(two, tasks.of(self.description).none(2), self.settings)
            weight_files.export(self.name, self.path(self.name, "network.onnx"), model, x)

    def take(self, givers):
        """Take each giver's weights over; save, read again, predict."""
        images = observations(self.description)[2]
        none = tasks.of(self.description).none(len(images))
        x, _ = self.module.load(images, none, self.settings)
        for giver in givers:
            given = canonical.load(self.description, self.path(giver, "restored.npz"))
            _, model = self.build(given)
            scores = np.asarray(self.module.predict(model, x))
            path = self.path(self.name, "of-%s%s" % (giver, self.endings[0]))
            weight_files.write(self.description, self.name, path, model, given)
            self.compare(given, self.read(path), "%s's weights came back changed" % giver)
            with atomic_write(self.path(self.name, giver + "-scores.npz")) as file:
                np.savez(file, scores=scores)

    def compare(self, right, found, what):
        """InputError unless both are equal bit for bit."""
        changed = [name for name, w in right.items() if not np.array_equal(w, found[name])]
        if changed:
            raise InputError("%s: %s: %s" % (self.name, what, ", ".join(changed)))


def parse(arguments):
    """The command line, which the exchange writes."""
    parser = commands.OneLineParser(prog="python -m common.exchange.worker")
    parser.add_argument("what", choices=("give", "restore", "take"))
    parser.add_argument("name")
    parser.add_argument("folder")
    parser.add_argument("givers", nargs="*")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser.parse_args(arguments)


def command(arguments):
    """Exit code 0 when all was done, and came back bit for bit."""
    options = parse(arguments)
    worker = Worker(options)
    steps = {"give": worker.give, "restore": worker.restore}
    steps.get(options.what, lambda: worker.take(options.givers))()
    versions = machine.versions(modules.find(options.name).package)
    write_json(worker.path(options.name, "versions.json"), versions)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
