"""Show where a training step's time goes, from each framework's own profiler.

Each framework is proven in its own environment, timed without its profiler, and then profiled.
"""

import json
import os
import tempfile
from collections import OrderedDict

import numpy as np

import frameworks
from common.bench.bench import alone
from common.profiles import categories, kernels
from common.profiles.request import parse, result_path
from common.run import results
from common.system import commands, environments, machine, shell
from common.system.errors import InputError
from common.system.files import check_writable, now

SCHEMA_VERSION = 1


def run_worker(contender, request, log, *answer):
    """Run a worker in the framework's environment; InputError with its last line if it fails.

    answer: the path for its answer; without one, oneDNN prints its kernels to the log.
    """
    command = environments.inside(
        contender.environment, "-m", "common.profiles.worker", contender.name, *answer
    )
    command += ["--lane", contender.lane, "--model", request.model.name]
    command += ["--python", contender.python] if contender.python else []
    command += ["--threads", str(request.threads), "--steps", str(request.steps)]
    if commands.call(command, log):
        raise InputError("%s: %s" % (contender.text, environments.last_line(log)))


def measure(contender, request):
    """A worker's answer."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        path = os.path.join(folder, "answer.json")
        run_worker(contender, request, log, path)
        with open(path) as file:
            return json.load(file, object_pairs_hook=OrderedDict)


def convolution_kernels(contender, request):
    """oneDNN's kernels for a step's convolutions; [] unless it computes all of them."""
    counts = multiply_adds(request.model)
    if not counts:
        return []
    with tempfile.TemporaryFile() as log:
        run_worker(contender, request, log)
        used = kernels.read(environments.printed(log))
    expected = request.model.hp.batch_size * sum(counts.values())
    return used if sum(kernel["multiply_adds"] for kernel in used) == expected else []


def multiply_adds(model):
    """{forward and backward: multiply-adds of the convolutions for one observation}, or None.

    Dense layers, with as many multiply-adds as weights, are subtracted. The first layer's input
    needs no gradient.
    """
    if "convolution" not in model.traits:
        return None
    forward, first = model.multiply_adds
    forward -= sum(int(np.prod(shape)) for shape in model.shapes.values() if len(shape) == 2)
    return OrderedDict([(categories.FORWARD, forward), (categories.BACKWARD, 2 * forward - first)])


def profile(contender, request, facts):
    """The result file's content: a dict of JSON values."""
    model, before = request.model, machine.matmul_flops()
    answer = measure(contender, request)
    after = machine.matmul_flops()
    answer["kernels"] = convolution_kernels(contender, request)
    result = OrderedDict(
        schema=SCHEMA_VERSION,
        made=now(),
        machine=dict(facts, **answer.pop("environment")),
        framework=contender.name,
        title=frameworks.ENVIRONMENTS[contender.name].title,
        lane=contender.lane,
        model=model.name,
        threads=request.threads,
        batch_size=model.hp.batch_size,
        steps=request.steps,
        matmul_flops=[before, after],
    )
    counts = multiply_adds(model)
    if counts:
        result["multiply_adds"] = counts
    result.update(answer)
    result["parts"] = categories.shares(contender.name, model.name, answer["operations"])
    return result


def summary(result):
    """Yield a profile as a few lines of text."""
    total = sum(result["operations"].values())
    times = (1e3 * result["seconds_per_step"], 1e3 * total)
    yield "%.4g ms a step; the profiler's sum is %.4g ms" % times
    for category, share in sorted(result["parts"].items(), key=lambda item: -item[1]):
        yield "    %5.1f%%  %s" % (100 * share, category)
    for operation, seconds in list(result["operations"].items())[:3]:
        yield "    slowest: %s (%.0f%%)" % (operation, 100 * seconds / total)
    share = kernels.own_share(result["kernels"])
    if share is not None:
        yield "    %.0f%% of the convolutions' arithmetic is not padding" % (100 * share)


def command(arguments):
    """Exit code 0 when all is profiled."""
    request = parse(arguments)
    facts = machine.facts()
    shell.keep()
    contenders = request.contenders.values()
    paths = [request.out or result_path(contender, request, facts) for contender in contenders]
    for path in paths:
        check_writable(path)
    with alone():
        environments.make(OrderedDict.fromkeys(contender.environment for contender in contenders))
        machine.limit_threads(request.threads)
        for contender, path in zip(contenders, paths):
            print("profiling  %s" % contender.text, flush=True)
            result = profile(contender, request, facts)
            results.write(path, result)
            print("\n".join(summary(result)))
            print("result file  %s" % os.path.relpath(path), flush=True)
    return 0
