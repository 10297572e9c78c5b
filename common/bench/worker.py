"""A contender's own process: it proves its module, stays alive, and trains a block when asked to.

It talks to the bench in lines of JSON through a socket, because frameworks print what they like.
"""

import itertools
import json
import math
import os
import socket
import sys
import time

from common.given import batches, models
from common.given.dataset import take
from common.host import commands, machine, modules
from common.host.errors import InputError
from common.proof import certificate

TOKEN = "ROSETTA_BENCH"  # the environment variable with what a worker shows the bench
OBSERVATIONS = 20  # batches of them, that all training takes in turn
WARM_UP = 4  # steps before the first block: tuning and allocation go on behind the first one


def parse(arguments):
    """The command line, which the bench writes."""
    parser = commands.OneLineParser(prog="python -m common.bench.worker")
    parser.add_argument("name")
    parser.add_argument("--model", required=True)
    parser.add_argument("--lane", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    return parser.parse_args(arguments)


class Contender:
    """A proven module with a model that is trained on and on."""

    def __init__(self, options):
        description = models.find(options.model)
        machine.limit_threads(options.threads)
        self.module = modules.load(options.name, options.model)
        settings = self.module.configure(options.lane, options.threads, 0)
        proof = certificate.obtain(description, options.name, self.module, options.lane, settings)
        if not proof["passed"]:
            raise InputError("%s, lane %s, is not proven" % (options.name, options.lane))
        hp = description.hp
        dataset = description.data("synthetic")
        dataset = take(dataset, OBSERVATIONS * hp.batch_size, 1, description.task.observations)
        x, y = self.module.load(
            batches.as_float(dataset.train_images), dataset.train_labels, settings
        )
        self.batches = itertools.chain.from_iterable(
            batches.batches(x, y, hp.batch_size, 0, epoch) for epoch in itertools.count()
        )
        weights = description.initialize(description.shapes, 0)
        started = time.perf_counter()
        network = self.module.symbol(settings, hp)
        self.model = self.module.loss(network, settings, hp, weights)
        self.train(1)
        package = modules.find(options.name).package
        self.facts = {
            "versions": machine.versions(package),
            "settings": settings,
            "source_sha256": modules.source_sha256(self.module),
            "build_and_first_step": time.perf_counter() - started,
        }
        warm = self.train(WARM_UP)
        self.facts["seconds_per_step"] = warm["seconds"] / WARM_UP

    def train(self, steps):
        """Train ``steps`` more; the seconds of a clock, and of CPUs, until the device is done."""
        block = itertools.islice(self.batches, steps)
        cpu, started = time.process_time(), time.perf_counter()
        losses = list(self.module.train(self.model, block))
        self.module.wait(self.model)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        if len(losses) != steps or not math.isfinite(float(losses[-1])):
            raise InputError("training gave %d losses, the last one %s" % (len(losses), losses[-1]))
        return {"seconds": seconds, "cpu_seconds": cpu}


def serve(options, lines):
    """Answer the bench until it has had enough."""

    def say(**answer):
        lines.write(json.dumps(answer) + "\n")
        lines.flush()

    say(token=os.environ[TOKEN], contender=[options.name, options.lane])
    try:
        contender = Contender(options)
        say(**contender.facts)
        for line in lines:
            steps = json.loads(line)
            if not steps:
                break
            say(**contender.train(steps))
        say(peak_memory_bytes=machine.peak_memory())
    except InputError as error:
        say(error=str(error))
        raise


def command(arguments):
    """Exit code 0 when the bench has ended."""
    options = parse(arguments)
    if options.lane == "best":
        machine.restart_with(machine.KEEP_FREED_MEMORY, "common.bench.worker", arguments)
    with socket.create_connection(("127.0.0.1", options.port)) as connection:
        with connection.makefile("rw") as lines:
            serve(options, lines)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
