"""Profile NumPy: the time of each layer.

Idiom: Python's ``cProfile`` around the steps; the layers are Python functions.
Surprise: it sees only the thread that starts it, so each of lane best's threads starts its own.
    On a GPU, CuPy's calls return before they are done, so these are times of the launches.
"""

import cProfile
import re
import threading
from collections import Counter, OrderedDict

from frameworks.numpy.strips import pool_of

WAITS = re.compile(r"<method '(acquire|get)' of '_(thread|queue)\.")  # for other threads


def profile(build, train, batches):
    """{CALLER > FUNCTION: its own seconds} in a pass, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    profilers = [cProfile.Profile()]

    def join(*_):
        profilers.append(cProfile.Profile())
        profilers[-1].enable()  # each new thread calls this

    pool_of.cache_clear()  # new threads will call join
    threading.setprofile(join)
    try:
        profilers[0].runcall(list, train(model, batches))
    finally:
        threading.setprofile(None)
    times = Counter()
    for entry in (entry for profiler in profilers for entry in profiler.getstats()):
        times[name(entry)] += entry.inlinetime
        for call in entry.calls or ():
            times[name(call)] -= call.inlinetime
            times["%s > %s" % (name(entry), name(call))] += call.inlinetime
    pool_of.cache_clear()
    seconds = {
        operation: max(0, own) for operation, own in times.items() if not WAITS.search(operation)
    }
    return OrderedDict(sorted(seconds.items(), key=lambda item: -item[1]))


def name(entry):
    """A method with its class, such as Dense.forward; a description of a built-in function."""
    return entry.code if isinstance(entry.code, str) else entry.code.co_qualname
