"""Profiling PaddlePaddle: what each operation takes.

Idiom: ``paddle.profiler.Profiler`` around the steps; ``summary()`` prints tables, and
    ``profiler_result`` has the tree of events of each thread.
Surprise: unless given ``on_trace_ready``, it writes each trace into a folder ``profiler_log``.
"""

from collections import Counter, OrderedDict

from paddle import profiler


def profile(build, train, batches):
    """{operation: seconds} of a pass over the batches, the slowest first; the update too."""
    model = build()
    list(train(model, batches[:1]))  # the first step compiles and allocates
    with profiler.Profiler(on_trace_ready=lambda profiler: None) as finished:
        list(train(model, batches))
    times = Counter()
    for root in finished.profiler_result.get_data().values():
        for event in kernels(root):
            times[event.name] += (event.end_ns - event.start_ns) / 1e9
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def kernels(event):
    """The launches of kernels within an event; a CPU computes before they end."""
    if event.name.endswith(" kernel launch"):
        return [event]
    return [kernel for child in event.children_node for kernel in kernels(child)]
