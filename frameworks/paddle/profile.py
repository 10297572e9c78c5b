"""Profile PaddlePaddle: the time of each operation.

Idiom: ``paddle.profiler.Profiler`` around the steps; ``summary()`` prints tables, and
    ``profiler_result`` has the tree of events of each thread.
Surprise: unless given ``on_trace_ready``, it writes each trace into a folder ``profiler_log``.
"""

import re
from collections import Counter, OrderedDict

from paddle import profiler

# Around an operation's name: in a compiled program, and where it runs by itself.
KERNEL = re.compile(r"^(pd_op|onednn_op)\.| kernel launch$")


def profile(build, train, batches):
    """{operation: seconds} of a pass over the batches, the slowest first; the update too."""
    model = build()
    list(train(model, batches[:1]))  # the first step compiles and allocates
    with profiler.Profiler(on_trace_ready=lambda profiler: None) as finished:
        list(train(model, batches))
    times = Counter()
    for root in finished.profiler_result.get_data().values():
        for event in kernels(root):
            times[KERNEL.sub("", event.name)] += (event.end_ns - event.start_ns) / 1e9
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def kernels(event):
    """The events of an operation each, within an event; a CPU computes before they end."""
    if KERNEL.search(event.name):
        return [event]
    return [kernel for child in event.children_node for kernel in kernels(child)]
