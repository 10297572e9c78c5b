"""Profile MXNet: the time of each operator.

Idiom: ``mx.profiler.set_state`` around the steps; ``dumps`` sums what was recorded.
Surprise: operators run in bulks of up to 15, which the profiler takes for one operator; here bulks
    are off. Steps run in the background, so each loss is read before the profiler stops. A profile
    of the calls shows that reading as the slowest of all, because it waits for the step.
"""

import json
import os
import tempfile
from collections import OrderedDict

from mxnet import profiler


def profile(build, train, batches):
    """{operator: seconds} of a pass over the batches, the slowest first, including the update."""
    os.environ["MXNET_EXEC_BULK_EXEC_TRAIN"] = "0"  # read when a network is compiled
    try:
        model = build()
        list(train(model, batches[:1]))  # the first step compiles
    finally:
        del os.environ["MXNET_EXEC_BULK_EXEC_TRAIN"]
    with tempfile.TemporaryDirectory() as folder:  # for a list of events, which it always writes
        file = os.path.join(folder, "profile.json")
        profiler.set_config(profile_all=True, aggregate_stats=True, filename=file)
        profiler.set_state("run")
        for loss in train(model, batches):
            float(loss)
        profiler.set_state("stop")
        stats = json.loads(profiler.dumps(reset=True, format="json"))["Time"]["operator"]
    times = {name: entry["Total"] / 1e3 for name, entry in stats.items()}  # of milliseconds
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
