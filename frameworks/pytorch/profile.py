"""Profile PyTorch: the time of each operation.

Idiom: ``torch.profiler.profile`` around the steps; ``export_chrome_trace`` for a browser.
Surprise: an operation's total includes the operations that it calls; only the ``self_`` times add
    up. ``key_averages()`` sums over equal names, such as a product's in both directions; only
    ``events()`` knows the call that each belongs to.
"""

from collections import Counter, OrderedDict

import torch
from torch.autograd import DeviceType


def profile(build, train, batches, inside=None):
    """{CALL > OPERATION: seconds} of a pass over the batches, the slowest first.

    inside: how the name of a call begins that is around all others, if there is one.
    """
    model = build()
    list(train(model, batches[:1]))  # the first step tunes and allocates
    activities = torch.profiler.supported_activities()
    with torch.profiler.profile(activities=activities) as profiler:
        list(train(model, batches))
    gpu = torch.cuda.is_available()
    times = Counter()
    for event in profiler.events():
        if event.device_type != DeviceType.CPU:
            continue  # a kernel is counted in the operation that starts it
        took = event.self_device_time_total if gpu else event.self_cpu_time_total
        times[name(event, inside)] += took / 1e6
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def name(event, inside):
    """The outermost call that the operation is part of, and the operation."""
    call = event
    while call.cpu_parent and not (inside and call.cpu_parent.name.startswith(inside)):
        call = call.cpu_parent
    if call is event:
        return event.name
    return "%s > %s" % (call.name.replace("autograd::engine::evaluate_function: ", ""), event.name)
