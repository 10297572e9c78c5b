"""A profile's part in the framework's environment: prove, time without the profiler, and profile.

The answer is a file, because frameworks print to stdout. oneDNN prints its kernels in a separate
process, because printing takes time.
"""

import itertools
import sys
from collections import OrderedDict
from typing import Callable, Iterator, NamedTuple

import numpy as np

from common import networks
from common.bench.process import WARM_UP, endless
from common.profiles import kernels
from common.proof import certificate
from common.run import clocks
from common.system import commands, cuda, interpreter, machine, modules
from common.system.errors import InputError
from common.system.files import write_json

PASSES = 5  # to time without the profiler


def parse(arguments):
    """The command line, which ``profiles`` made."""
    parser = commands.OneLineParser(prog="python -m common.profiles.worker")
    parser.add_argument("name")
    parser.add_argument("answer", nargs="?", help="its file; without, oneDNN prints its kernels")
    parser.add_argument("--model", required=True)
    parser.add_argument("--lane", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    interpreter.add_option(parser)
    return parser.parse_args(arguments)


class Training(NamedTuple):
    """A proven module, and its batches.

    build: makes a model. batches: endless.
    """

    module: object
    settings: dict
    build: Callable
    batches: Iterator

    def timed(self, model, steps):
        """Train the next steps, and return a ``clocks.Pass``."""
        return clocks.timed_pass(self.module, model, itertools.islice(self.batches, steps), steps)

    def train(self, model, batches):
        """The module's own ``train``, which ends when the device has finished."""
        yield from self.module.train(model, batches)
        self.module.wait(model)


def prepare(name, model, lane, threads):
    """The ``Training`` of a proven module."""
    module, settings = certificate.proven(name, model.name, lane, threads)

    def build():
        network = module.symbol(settings, model.hp)
        weights = model.initialize(model.shapes, 0)
        return module.loss(network, settings, model.hp, weights)

    return Training(module, settings, build, endless(module, model, settings, model.hp.batch_size))


def seconds_per_step(training, steps):
    """The seconds per step of each of several passes, without the profiler."""
    model = training.build()
    for warm_up in (1, WARM_UP):
        training.timed(model, warm_up)
    passes = [training.timed(model, steps) for _ in range(PASSES)]
    return [(timed.seconds - timed.outside) / steps for timed in passes]


def show_kernels(training):
    """Print the mark and train a step; oneDNN, if it is used, prints its kernels."""
    model = training.build()
    training.timed(model, 1)
    print("\n" + kernels.MARK, flush=True)
    training.timed(model, 1)


def measure(name, training, steps):
    """The answer, a dict of JSON values; times are per step."""
    plain = seconds_per_step(training, steps)
    batches = list(itertools.islice(training.batches, steps))
    operations = modules.load(name, "profile").profile(training.build, training.train, batches)
    return {
        "versions": dict(machine.versions(modules.find(name).package), **cuda.versions()),
        "settings": training.settings,
        "environment": machine.environment(),
        "source_sha256": modules.source_sha256(training.module),
        "seconds_per_step": float(np.median(plain)),
        "passes": plain,
        "operations": OrderedDict(
            (operation, seconds / steps) for operation, seconds in operations.items()
        ),
    }


def command(arguments):
    """Exit code 0 when the answer is written."""
    options = parse(arguments)
    ask = interpreter.Ask(options.name, options.model, options.lane)
    interpreter.restart(options.python, ask, "common.profiles.worker", arguments)
    environ = dict(modules.environ(options.name, options.lane))
    if not options.answer:
        environ.update(kernels.SWITCHES)
    machine.restart_with(environ, "common.profiles.worker", arguments)
    model = networks.find(options.model)
    try:
        training = prepare(options.name, model, options.lane, options.threads)
        if options.answer:
            write_json(options.answer, measure(options.name, training, options.steps))
        else:
            show_kernels(training)
    except clocks.Stop as stop:
        raise InputError(str(stop))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
