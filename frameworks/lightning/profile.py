"""Profile Lightning: the time of each operation of PyTorch.

Idiom: ``Trainer(profiler="simple")`` times the trainer's own calls, ``profiler="pytorch"`` the
    operations of PyTorch, with the profiler that goes around the pass here.
Surprise: forward and backward pass are a closure that the optimiser's ``step`` calls, so all
    operations are inside that call.
"""

from collections import Counter, OrderedDict

import torch
from torch.autograd import DeviceType


def profile(build, train, batches):
    """{CALL > OPERATION: seconds} of a pass over the batches, the slowest first."""
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
        times[name(event)] += took / 1e6
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def name(event):
    """The outermost call in the optimiser's that the operation is part of, and the operation."""
    call = event
    while call.cpu_parent and not call.cpu_parent.name.startswith("Optimizer.step"):
        call = call.cpu_parent
    if call is event:
        return event.name
    return "%s > %s" % (call.name.replace("autograd::engine::evaluate_function: ", ""), event.name)
