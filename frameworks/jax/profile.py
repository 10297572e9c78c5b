"""Profile JAX: the time of each operation.

Idiom: ``jax.profiler.trace`` around the steps; it writes a file for XProf or Perfetto, which
    ``jax.profiler.ProfileData`` reads.
Surprise: compiled by XLA, a step is a few fused operations without the layers' names. The
    events of its older convolutions cover only part of their time, so the sum is too small.
"""

import os
import re
import tempfile
from collections import OrderedDict
from glob import glob

import jax

OPERATION = re.compile(r"[\w.-]+$")


def profile(build, train, batches):
    """{operation: seconds} of a pass, including the update, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step compiles
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(list(train(model, batches)))
        (path,) = glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        planes = list(jax.profiler.ProfileData.from_file(path).planes)
    times = {}
    for line in (line for plane in planes for line in plane.lines):
        for event in line.events if line.name.startswith("tf_XLA") else ():
            if OPERATION.match(event.name):  # and not the threads that wait for them
                times[event.name] = times.get(event.name, 0) + event.duration_ns / 1e9
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
