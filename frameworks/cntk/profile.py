"""Profile CNTK: the time of each operation.

Idiom: ``set_node_timing``, and ``print_node_timing`` of the trainer, for the nodes of the graph;
    ``cntk.debugging.start_profiler`` around the steps for the parts of a step.
Surprise: node times are averages that only go to stderr, from C++. They cannot be turned off again:
    ``set_node_timing(False)`` calls a function that the wheel lacks.
"""

import glob
import os
import re
import tempfile
from collections import OrderedDict

from cntk.debugging import debug, profiler

# Convolution12  forward avg 0.001s, backward avg 0.002s (fwd# 3|bwd# 3)
NODE = re.compile(r"(\w+?)\d+ +forward avg (\S+)s, backward avg (\S+)s \(fwd# (\d+)\|bwd# (\d+)\)")
LINE = re.compile(r"_*(\w.*?) *:.* ([\d.]+) (ms|us|s)$")  # a name, ..., the sum of all
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1}


def node_times(trainer):
    """{operation, direction: seconds}, of all steps since node timing was turned on."""
    with tempfile.TemporaryFile("w+") as printed:
        stderr = os.dup(2)
        os.dup2(printed.fileno(), 2)
        try:
            trainer.print_node_timing()
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
        printed.seek(0)
        lines = printed.read()
    nodes = NODE.findall(lines)
    if not nodes or len(nodes) != lines.count("forward avg"):
        raise ValueError("CNTK's node times have an unknown form: %r" % lines[:200])
    times = OrderedDict()
    for operation, *averages, forwards, backwards in nodes:
        for way, average, count in zip(("forward", "backward"), averages, (forwards, backwards)):
            key = "%s, %s" % (operation, way)
            times[key] = times.get(key, 0) + float(average) * int(count)
    return times


def part_times(folder):
    """{part of a step: seconds of all steps}; an iteration includes its parts."""
    (path,) = glob.glob(os.path.join(folder, "*summary*"))
    with open(path) as file:
        matches = [LINE.match(line.strip()) for line in file]
    return {m.group(1): float(m.group(2)) * SECONDS[m.group(3)] for m in matches if m}


def profile(build, train, batches, trainer=lambda model: model[-1]):
    """{operation: seconds} of a pass over the batches, the slowest first, including the update."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    debug.set_node_timing(True)
    with tempfile.TemporaryDirectory() as folder:
        profiler.start_profiler(folder, sync_gpu=True)
        profiler.enable_profiler()
        list(train(model, batches))
        profiler.stop_profiler()
        parts = part_times(folder)
    times = node_times(trainer(model))
    between = parts["Minibatch Iteration"] - parts["Weight Update"] - sum(times.values())
    times.update({"Weight Update": parts["Weight Update"], "between nodes": max(0, between)})
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
