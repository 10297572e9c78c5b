"""Profiling NumPy: what each layer takes.

Idiom: Python's ``cProfile`` around the steps: a from-scratch network's layers are functions.
Surprise: on a GPU, CuPy's calls return before they are done, so these are times of the launches.
"""

import cProfile
import pstats
from collections import OrderedDict


def profile(build, train, batches):
    """{file:line(function): seconds without those that it calls} of a pass, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    profiler = cProfile.Profile()
    profiler.runcall(list, train(model, batches))
    times = {
        pstats.func_std_string(pstats.func_strip_path(name)): own
        for name, (_, _, own, _, _) in pstats.Stats(profiler).stats.items()
    }
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
