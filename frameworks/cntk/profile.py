"""Profiling CNTK: what each part of a step takes.

Idiom: ``cntk.debugging.start_profiler`` around the steps writes a summary into a folder.
Surprise: it knows no operations, only the parts of a step; what is not a trainer's is not timed.
    An iteration's time holds that of its parts.
"""

import glob
import os
import re
import tempfile
from collections import OrderedDict

from cntk.debugging import profiler

LINE = re.compile(r"_*(\w.*?) *:.* ([\d.]+) (ms|us|s)$")  # what it is, ..., the sum of all
WHOLE = "Minibatch Iteration"
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1}


def profile(build, train, batches):
    """{part of a step: seconds} of a pass over the batches, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    with tempfile.TemporaryDirectory() as folder:
        profiler.start_profiler(folder, sync_gpu=True)
        profiler.enable_profiler()
        list(train(model, batches))
        profiler.stop_profiler()
        (path,) = glob.glob(os.path.join(folder, "*summary*"))
        with open(path) as file:
            found = [LINE.match(line.strip()) for line in file]
    times = {one.group(1): float(one.group(2)) * SECONDS[one.group(3)] for one in found if one}
    times[WHOLE] = max(0, 2 * times[WHOLE] - sum(times.values()))  # without its parts
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
