"""Profiling PyTorch: what each operation takes.

Idiom: ``torch.profiler.profile`` around the steps; ``export_chrome_trace`` for a browser.
Surprise: an operation's total holds the operations that it calls; only the ``self_`` times add up.
"""

from collections import OrderedDict

import torch


def profile(build, train, batches):
    """{operation: seconds} of a pass over the batches, the slowest first; forward and backward."""
    model = build()
    list(train(model, batches[:1]))  # the first step tunes and allocates
    activities = torch.profiler.supported_activities()
    with torch.profiler.profile(activities=activities) as profiler:
        list(train(model, batches))
    gpu = torch.cuda.is_available()
    times = {
        event.key: (event.self_device_time_total if gpu else event.self_cpu_time_total) / 1e6
        for event in profiler.key_averages()
    }
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
