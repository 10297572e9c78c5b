"""A contender's process: it proves its module, then trains a block whenever the bench asks.

It exchanges lines of JSON with the bench through a socket, because frameworks print to stdout.
"""

import itertools
import json
import os
import socket
import sys
import time
from typing import NamedTuple, Optional

import numpy as np

from common import networks
from common.data import batches
from common.networks.model import Model
from common.proof import certificate, tasks
from common.run import clocks
from common.system import commands, cuda, interpreter, machine, modules, workers
from common.system.errors import InputError, NotProven

TOKEN = "ROSETTA_BENCH"  # the environment variable with which a contender identifies itself
BATCHES = 20  # different batches; fewer, but at least two, if that makes too many observations
OBSERVATIONS = 4096  # limit for all batches
# A factor of the learning rate, so that weights hardly change. Random targets would drive ReLUs to
# 0 and the optimiser's state to denormal numbers, with which CPUs are slow.
STILL = 1e-4
PRODUCT = "product"  # the request for the speed of a matrix product of bfloat16
WARM_UP = 8  # steps before the first timed one


class Job(NamedTuple):
    """A contender, and the port of its bench. ``lever`` may be empty."""

    name: str
    model: Model
    lane: str
    lever: str
    threads: int
    workers: int
    batch_size: Optional[int]
    port: int
    python: Optional[str]


def parse(arguments):
    """The job of a command line, which the bench made."""
    parser = commands.OneLineParser(prog="python -m common.bench.process")
    parser.add_argument("name")
    parser.add_argument("--model", required=True)
    parser.add_argument("--lane", required=True)
    parser.add_argument("--lever", default="")
    parser.add_argument("--threads", type=int, default=machine.default_threads())
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--port", type=int, required=True)
    interpreter.add_option(parser)
    options = vars(parser.parse_args(arguments))
    return Job(**dict(options, model=networks.find(options["model"])))


def endless(module, description, settings, size):
    """Endless batches; in each cycle, targets are paired with other inputs."""
    count = size * max(2, min(BATCHES, OBSERVATIONS // size))
    observations, targets = tasks.of(description).observations(count, 0)
    x, y = module.load(observations, targets, settings)
    inputs, targets = zip(*batches.batches(x, y, size, 0, 0))
    return zip(itertools.cycle(inputs), itertools.cycle(targets[:-1]))


def proven(job):
    """``certificate.proven`` for a job."""
    model = job.model.name
    return certificate.proven(job.name, model, job.lane, job.threads, job.lever, job.workers)


def product(job):
    """{"flops": speed of the lane's own matrix product}; {} if it has none."""
    mixed = modules.load(job.name, job.lane)
    if not hasattr(mixed, "product"):
        return {}
    return {"flops": machine.matmul_flops(mixed.product)}


def facts(job, module, settings):
    """What a contender sends to the bench once it has started."""
    package = modules.find(job.name).package
    return {
        "versions": dict(machine.versions(package), **cuda.versions()),
        "settings": settings,
        "source_sha256": modules.source_sha256(module),
        **machine.environment(),
    }


class Trainer:
    """A proven module with a model that it keeps training."""

    def __init__(self, job):
        description = job.model
        self.module, settings = proven(job)
        hp = description.hp
        hp = hp._replace(
            batch_size=job.batch_size or hp.batch_size,
            learning_rate=hp.learning_rate * STILL,
        )
        self.batches = endless(self.module, description, settings, hp.batch_size)
        weights = description.initialize(description.shapes, 0)
        network = self.module.symbol(settings, hp)
        self.model = self.module.loss(network, settings, hp, weights)
        self.losses = []
        self.facts = facts(job, self.module, settings)
        for warm_up in (1, WARM_UP):
            self.train(warm_up)

    def train(self, steps):
        """Train ``steps`` more; wall and CPU seconds until the device is done, and the loss."""
        cpu = time.process_time()
        block = itertools.islice(self.batches, steps)
        timed = clocks.timed_pass(self.module, self.model, block, steps, self.losses)
        answer = {"seconds": timed.seconds - timed.outside}
        return dict(answer, cpu_seconds=time.process_time() - cpu, loss=self.losses[-1])


def in_layout(script, images):
    """Images (n, 3, 32, 32) as a plain script takes them."""
    if getattr(script, "CHANNELS_LAST", False):
        images = images.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images)


class Script:
    """A plain script of the CNN, with a model that it keeps training; nothing proves it.

    Its file has two functions: ``build(learning_rate)`` makes a model, and ``train(model, images,
    labels)`` trains it for one epoch in batches of 64 and returns a loss. Its images are (n, 3, 32,
    32), or (n, 32, 32, 3) if the file says ``CHANNELS_LAST = True``.
    """

    def __init__(self, job):
        machine.limit_threads(job.threads)
        self.script = modules.load(job.name, modules.PLAIN)
        hp, count = job.model.hp, BATCHES * job.model.hp.batch_size
        self.batch_size = hp.batch_size
        images, self.labels = tasks.of(job.model).observations(count, 0)
        self.images = in_layout(self.script, images)
        self.model = self.script.build(hp.learning_rate * STILL)
        self.facts = facts(job, self.script, {"device": "cpu", "threads": job.threads})
        for warm_up in (1, WARM_UP):
            self.train(warm_up)

    def train(self, steps):
        """As ``Trainer.train``."""
        rows = np.arange(steps * self.batch_size) % len(self.images)
        images, labels = self.images[rows], self.labels[rows]
        cpu, started = time.process_time(), time.perf_counter()
        loss = float(self.script.train(self.model, images, labels))
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "cpu_seconds": time.process_time() - cpu, "loss": loss}


def serve(job, lines):
    """Answer the bench until it sends 0."""

    def say(**answer):
        lines.write(json.dumps(answer) + "\n")
        lines.flush()

    say(token=os.environ.get(TOKEN))
    try:
        team = workers.Team(job.name, job.workers)
        trainer = (Script if job.lane == modules.PLAIN else Trainer)(job)
        say(**trainer.facts)
        for line in lines:
            if line.strip() == PRODUCT:
                say(**product(job))
                continue
            steps = int(line)
            team.order(steps)
            if not steps:
                say(peak_memory_bytes=machine.peak_memory() + sum(team.answers()))
                return
            answer = trainer.train(steps)
            answer["cpu_seconds"] += sum(team.answers())
            say(**answer)
    except NotProven as error:
        say(not_proven=error.failed)
    except (InputError, clocks.Stop) as error:
        say(error=str(error))


def follow(job):
    """Train whenever the first worker does."""
    team = workers.Team(job.name, job.workers)
    trainer = Trainer(job)
    for steps in team.orders():
        if not steps:
            team.answer(machine.peak_memory())
            return
        team.answer(trainer.train(steps)["cpu_seconds"])


def command(arguments):
    """Exit code 0 when the bench has ended, or the error was sent to it."""
    job = parse(arguments)
    ask = interpreter.Ask(job.name, job.model.name, job.lane)
    interpreter.restart(job.python, ask, "common.bench.process", arguments)
    environ = modules.environ(job.name, job.lane, job.lever, job.model.name)
    machine.restart_with(environ, "common.bench.process", arguments)
    if job.workers > 1 and not workers.launched():
        proven(job)  # before launching: the proof starts workers of its own
        return workers.launch(job.name, job.workers, "common.bench.process", arguments)
    if job.workers > 1:
        workers.join(job.name)
    if workers.rank(job.name):
        follow(job)
        return 0
    with socket.create_connection(("127.0.0.1", job.port)) as connection:
        with connection.makefile("rw") as lines:
            serve(job, lines)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
