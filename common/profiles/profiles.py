"""Show where a training step's time goes, from each framework's own profiler.

Each framework is proven in its own environment, timed without its profiler, and then profiled.
"""

import json
import os
import tempfile
from collections import OrderedDict

import numpy as np

import frameworks
from common import networks
from common.bench import contenders
from common.bench.bench import alone
from common.profiles import categories, kernels
from common.run import results
from common.system import commands, environments, machine
from common.system.errors import InputError
from common.system.files import ROOT, check_writable, now

SCHEMA_VERSION = 1


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(
        prog="python -m common.profiles", description=__doc__.split("\n")[0]
    )
    parser.add_argument("profiled", nargs="+", metavar="NAME[:LANE]", help="lane best if none")
    parser.add_argument("--model", choices=list(networks.ALL), default="cnn")
    cores = machine.usable_cores()
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument(
        "--steps", type=commands.whole_number, default=20, metavar="N", help="that are profiled"
    )
    parser.add_argument("--out", metavar="RESULT.json", help="the result file, of one framework")
    options = parser.parse_args(arguments)
    for text in options.profiled:
        if set("+/@") & set(text):
            raise InputError("%s: a profile takes NAME or NAME:LANE" % text)
    pairs = [text.partition(":") for text in options.profiled]
    names = ["%s:%s" % (name, lane or "best") for name, _, lane in pairs]
    options.profiled = list(contenders.resolve(names, options.model, options.threads))
    if options.out and len(options.profiled) > 1:
        told = len(options.profiled)
        raise InputError("--out takes one profile, and these are %d" % told)
    return options


def result_path(key, options, facts):
    """Where a profile goes without ``--out``: a folder per machine, a file per framework."""
    threads = ["%dthreads" % options.threads] if options.threads != facts["cores"] else []
    file = "-".join([options.model] + key.split(":") + threads) + ".json"
    return os.path.join(ROOT, "reports", "profiles", machine.folder_name(facts), file)


def work(key, options, log, *answer):
    """Have a worker do its part in the framework's environment; InputError with its last line."""
    name, lane = key.split(":")
    command = environments.inside(name, "-m", "common.profiles.worker", name, *answer)
    command += ["--lane", lane, "--model", options.model]
    command += ["--threads", str(options.threads), "--steps", str(options.steps)]
    if commands.call(command, log):
        raise InputError("%s: %s" % (key, environments.last_line(log)))


def ask(key, options):
    """A worker's answer."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        path = os.path.join(folder, "answer.json")
        work(key, options, log, path)
        with open(path) as file:
            return json.load(file, object_pairs_hook=OrderedDict)


def ask_kernels(key, options):
    """oneDNN's kernels of a step's convolutions; [] unless it tells of all of them."""
    model = networks.find(options.model)
    counted = multiply_adds(model)
    if not counted:
        return []
    with tempfile.TemporaryFile() as log:
        work(key, options, log)
        log.seek(0)
        found = kernels.read(log.read().decode(errors="replace"))
    every = model.hp.batch_size * sum(counted.values())
    return found if sum(one["multiply_adds"] for one in found) == every else []


def multiply_adds(model):
    """Those of the convolutions' ways there and back for one observation; None without any.

    The matrix products' are their weights'. The first layer's input needs no gradient.
    """
    if "convolution" not in model.traits:
        return None
    forward, first = model.multiply_adds
    forward -= sum(int(np.prod(shape)) for shape in model.shapes.values() if len(shape) == 2)
    return OrderedDict([(categories.FORWARD, forward), (categories.BACKWARD, 2 * forward - first)])


def result(key, options, facts, answer, matmul):
    """The result file's content: a dict of JSON values. matmul: before and after."""
    name, lane = key.split(":")
    model = networks.find(options.model)
    found = OrderedDict(
        schema=SCHEMA_VERSION,
        made=now(),
        machine=dict(facts, **answer.pop("environment")),
        framework=name,
        title=frameworks.ENVIRONMENTS[name].title,
        lane=lane,
        model=options.model,
        threads=options.threads,
        batch_size=model.hp.batch_size,
        steps=options.steps,
        matmul_flops=matmul,
    )
    counted = multiply_adds(model)
    if counted:
        found["multiply_adds"] = counted
    found.update(answer)
    found["parts"] = categories.shares(name, options.model, answer["operations"])
    return found


def told(found):
    """A profile in a few lines of text."""
    total = sum(found["operations"].values())
    figures = (1e3 * found["seconds_per_step"], 1e3 * total)
    yield "%.4g ms a step; the profiler's sum is %.4g ms" % figures
    for category, share in sorted(found["parts"].items(), key=lambda item: -item[1]):
        yield "    %5.1f%%  %s" % (100 * share, category)
    for operation, seconds in list(found["operations"].items())[:3]:
        yield "    slowest: %s (%.0f%%)" % (operation, 100 * seconds / total)
    share = kernels.own_share(found["kernels"])
    if share is not None:
        yield "    %.0f%% of the convolutions' arithmetic is not padding" % (100 * share)


def command(arguments):
    """Exit code 0 when all is profiled."""
    options = parse(arguments)
    facts = machine.facts()
    paths = {key: options.out or result_path(key, options, facts) for key in options.profiled}
    for path in paths.values():
        check_writable(path)
    with alone():
        environments.make(OrderedDict.fromkeys(key.split(":")[0] for key in options.profiled))
        machine.limit_threads(options.threads)
        for key, path in paths.items():
            print("profiling  %s" % key, flush=True)
            before = machine.matmul_flops()
            answer = ask(key, options)
            matmul = [before, machine.matmul_flops()]
            answer["kernels"] = ask_kernels(key, options)
            found = result(key, options, facts, answer, matmul)
            results.write(path, found)
            for line in told(found):
                print(line)
            print("result file  %s" % os.path.relpath(path), flush=True)
    return 0
