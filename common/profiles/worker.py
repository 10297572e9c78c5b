"""What a profile does in a framework's own environment: prove, time without the profiler and with.

Its answer is a file, because frameworks print what they like. What oneDNN prints is asked for in a
process of its own: it takes time.
"""

import itertools
import sys
import time
from collections import OrderedDict

import numpy as np

from common import networks
from common.bench.process import WARM_UP, endless
from common.profiles import kernels
from common.proof import certificate
from common.run import clocks
from common.system import commands, cuda, machine, modules
from common.system.errors import InputError
from common.system.files import write_json

PASSES = 5  # that are timed without the profiler


def parse(arguments):
    """The command line, which the driver writes."""
    parser = commands.OneLineParser(prog="python -m common.profiles.worker")
    parser.add_argument("name")
    parser.add_argument("answer", nargs="?", help="its file; without, oneDNN prints its kernels")
    parser.add_argument("--model", required=True)
    parser.add_argument("--lane", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    return parser.parse_args(arguments)


class Clock:
    """A module's ``train``, which counts and times the steps of all its passes but the first."""

    def __init__(self, train):
        self.plain = train
        self.passes = self.steps = self.seconds = 0

    def train(self, model, batches):
        """As the module's own."""
        self.passes += 1
        counted, started = self.passes > 1, time.perf_counter()
        for loss in self.plain(model, batches):
            self.steps += counted
            yield loss
        if counted:
            self.seconds += time.perf_counter() - started


def timed(module, model, source, steps):
    """Seconds per step without the profiler, of some passes; the model is gone after them."""
    for warm_up in (1, WARM_UP):
        clocks.timed_pass(module, model, itertools.islice(source, warm_up), warm_up)
    passes = [
        clocks.timed_pass(module, model, itertools.islice(source, steps), steps)
        for _ in range(PASSES)
    ]
    return [(one.seconds - one.outside) / steps for one in passes]


def prepared(options):
    """The proven module, its settings, a function that builds a model, and batches without end."""
    description = networks.find(options.model)
    module, settings = certificate.proven(
        options.name, options.model, options.lane, options.threads
    )

    def build():
        network = module.symbol(settings, description.hp)
        weights = description.initialize(description.shapes, 0)
        return module.loss(network, settings, description.hp, weights)

    source = endless(module, description, settings, description.hp.batch_size)
    return module, settings, build, source


def show_kernels(module, build, source):
    """Train a step after the mark; oneDNN, where it is used, prints what it computes."""
    model = build()
    clocks.timed_pass(module, model, itertools.islice(source, 1), 1)
    print("\n" + kernels.MARK, flush=True)
    clocks.timed_pass(module, model, itertools.islice(source, 1), 1)


def measured(options, module, settings, build, source):
    """The answer, a dict of JSON values: times are of a step."""
    plain = timed(module, build(), source, options.steps)
    clock = Clock(module.train)
    batches = list(itertools.islice(source, options.steps))
    found = modules.load(options.name, "profile").profile(build, clock.train, batches)
    package = modules.find(options.name).package
    answer = {
        "versions": dict(machine.versions(package), **cuda.versions()),
        "settings": settings,
        "environment": machine.environment(),
        "source_sha256": modules.source_sha256(module),
        "seconds_per_step": float(np.median(plain)),
        "passes": plain,
        "operations": OrderedDict((one, took / options.steps) for one, took in found.items()),
    }
    if clock.steps:  # none where the profiler runs the network itself
        answer["seconds_per_step_profiled"] = clock.seconds / clock.steps
    return answer


def command(arguments):
    """Exit code 0 when the answer is written."""
    options = parse(arguments)
    environ = dict(modules.environ(options.name, options.lane))
    if not options.answer:
        environ.update(kernels.SWITCHES)
    machine.restart_with(environ, "common.profiles.worker", arguments)
    try:
        module, settings, build, source = prepared(options)
        if options.answer:
            write_json(options.answer, measured(options, module, settings, build, source))
        else:
            show_kernels(module, build, source)
    except clocks.Stop as stop:
        raise InputError(str(stop))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
