"""Measure seconds and memory of the project's own commands, each in a process of its own."""

import os
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict
from typing import Callable, List, NamedTuple, Optional

import numpy as np

import frameworks
from common.bench.bench import alone
from common.compare.command import DIFFERENT
from common.run import console
from common.system import commands, environments, files, machine
from common.system.files import ROOT

SCHEMA_VERSION = 1
LAYERS, MEGABYTES = 175, 800  # of the recordings to compare

# A new process begins with its parent's peak of memory; so the parent must be a small one.
LAUNCHER = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    kilobyte = 1024 if sys.platform == "darwin" else 1  # macOS gives bytes
    file.write("%f %d" % (used.ru_utime + used.ru_stime, used.ru_maxrss // kilobyte))
sys.exit(code)
"""


class Cost(NamedTuple):
    """A command to measure.

    what: for people. arguments: Python's.
    prepare: a function that makes its files first, whose time does not count.
    expected: the exit code with which it has done its work.
    """

    what: str
    arguments: List[str]
    prepare: Optional[Callable[[], None]] = None
    expected: int = 0


def costs(folder, megabytes):
    """The commands, in order: a later one may need an earlier one's files. folder: an empty one."""

    def at(name):
        return os.path.join(folder, name)

    def record():
        recordings(at("a.npz"), at("right.npz"), at("wrong.npz"), megabytes)

    def answer():
        paths = at("challenge"), frameworks.REFERENCE, at("answer.npz")
        quietly(["-m", "common.challenge", "answer", *paths])

    proof = ["-m", "common.proof", frameworks.REFERENCE, "--lane", "same"]
    compare, challenge = ["-m", "common.challenge", "compare"], ["-m", "common.challenge"]
    size = "two recordings of %d MB, in %d arrays" % (megabytes, LAYERS)
    return [
        Cost("first certificate of the CNN", proof),
        Cost("another one, the reference kept", proof + ["--lane", "best"]),
        Cost("challenge of the CNN, written", challenge + ["write", at("challenge")]),
        Cost(
            "challenge of the CNN, a right answer checked",
            challenge + ["check", at("challenge"), at("answer.npz")],
            answer,
        ),
        Cost("%s, a right port" % size, compare + [at("a.npz"), at("right.npz")], record),
        Cost("%s, a wrong one" % size, compare + [at("a.npz"), at("wrong.npz")], None, DIFFERENT),
        Cost("the page", ["-m", "reports", "write", "--all"]),
    ]


def recordings(original, right, wrong, megabytes):
    """Write recordings of a chain of layers: the original, with other rounding, with a mistake."""
    random = np.random.RandomState(0)
    values = megabytes * 1000**2 // LAYERS // 4
    shape = (8, values // 8)
    x = random.standard_normal(shape).astype(np.float32)
    layers, rounded, mistaken = OrderedDict(), OrderedDict(), OrderedDict()
    for number in range(LAYERS):
        name = "layer%d" % number
        layers[name] = x
        noise = random.uniform(-1, 1, shape).astype(np.float32)
        rounded[name] = x * (1 + np.float32(2**-24) * noise)
        mistaken[name] = rounded[name] * np.float32(1.01 if number > LAYERS // 2 else 1)
        x = np.tanh(x + np.float32(0.1) * np.roll(x, number + 1, axis=1))
    for path, arrays in ((original, layers), (right, rounded), (wrong, mistaken)):
        np.savez(path, **arrays)


def quietly(arguments):
    """Run Python with these arguments; CalledProcessError if it fails."""
    subprocess.run([sys.executable] + arguments, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def measured(arguments, environ, expected=0):
    """A command's figures; its error if its exit code is not the expected one."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = os.path.join(folder, "used")
        started = time.perf_counter()
        launcher = [sys.executable, "-c", LAUNCHER, out] + [sys.executable] + arguments
        code = commands.call(launcher, log, cwd=ROOT, env=environ)
        seconds = time.perf_counter() - started
        if code != expected:
            last = environments.printed(log).strip().split("\n")[-1]
            return OrderedDict(error="exit code %d, not %d: %s" % (code, expected, last))
        with open(out) as file:
            cpu_seconds, kilobytes = map(float, file.read().split())
    return OrderedDict(
        seconds=round(seconds, 2),
        cpu_seconds=round(cpu_seconds, 2),
        megabytes=round(kilobytes * 1024 / 1e6),
        exit_code=code,
    )


def command(arguments):
    """Exit code 0, or 1 if a command could not be measured."""
    parser = commands.OneLineParser(
        prog="python -m common.costs", description=__doc__.split(",")[0] + "."
    )
    size = "size of the recordings that are compared (%(default)s)"
    number = commands.whole_number
    parser.add_argument("--megabytes", type=number, default=MEGABYTES, metavar="N", help=size)
    parser.add_argument("--out", metavar="RESULT.json", help="write the result to this file")
    options = parser.parse_args(arguments)
    facts = machine.facts()
    reports = files.reports_folder("costs", machine.folder_name(facts))
    path = options.out or os.path.join(reports, "costs.json")
    files.check_writable(path)
    figures = OrderedDict()
    with alone(), tempfile.TemporaryDirectory() as folder:
        environ = dict(os.environ, ROSETTA_CACHE=os.path.join(folder, "cache"))
        for cost in costs(folder, options.megabytes):
            try:
                if cost.prepare:
                    cost.prepare()
                figures[cost.what] = measured(cost.arguments, environ, cost.expected)
            except (OSError, MemoryError, subprocess.CalledProcessError) as error:
                figures[cost.what] = OrderedDict(error="its files could not be made: %s" % error)
            print(line(cost.what, figures[cost.what]), flush=True)
    result = OrderedDict(schema=SCHEMA_VERSION, made=files.now(), machine=facts, measured=figures)
    failed = any("error" in each for each in figures.values())
    if failed and os.path.isfile(path):
        print("not written  %s has figures of all commands" % console.shown(path))
        return 1
    files.write_json(path, result)
    print("result file  %s" % console.shown(path))
    return 1 if failed else 0


def line(what, figures):
    """A row of the printed table."""
    if "error" in figures:
        return "%-62s %s" % (what, figures["error"])
    values = (what, figures["seconds"], figures["cpu_seconds"], figures["megabytes"])
    return "%-62s %8.1f s %8.1f s of CPU %6d MB" % values
