"""Profiling MXNet: what each operator takes.

Idiom: ``mx.profiler.set_state`` around the steps; ``dumps`` gives the sums of what was recorded.
Surprise: operators run in bulks of up to 15, each of which the profiler takes for one; here are
    none. Steps run in the background, so each loss is read before the profiler stops; and reading
    it, which waits for the step, is what a profile of the calls shows as the slowest of all.
"""

import json
import os
import tempfile
from collections import OrderedDict

from mxnet import profiler


def profile(build, train, batches):
    """{operator: seconds} of a pass over the batches, the slowest first; the update too."""
    os.environ["MXNET_EXEC_BULK_EXEC_TRAIN"] = "0"  # read when a network is compiled
    try:
        model = build()
        list(train(model, batches[:1]))  # the first step compiles
    finally:
        del os.environ["MXNET_EXEC_BULK_EXEC_TRAIN"]
    with tempfile.TemporaryDirectory() as folder:  # for a list of events, which it writes anyway
        file = os.path.join(folder, "profile.json")
        profiler.set_config(profile_all=True, aggregate_stats=True, filename=file)
        profiler.set_state("run")
        for loss in train(model, batches):
            float(loss)
        profiler.set_state("stop")
        found = json.loads(profiler.dumps(reset=True, format="json"))["Time"]["operator"]
    times = {name: one["Total"] / 1e3 for name, one in found.items()}  # of milliseconds
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
