"""Profile tinygrad: the time of each kernel.

Idiom: ``DEBUG=2``, as a variable or a context, prints a line for each kernel that runs.
Surprise: a kernel's name is its kind, E for elementwise or r for a reduction, and the sizes of its
    loops. It has no layer's name, because a kernel may be parts of several layers.
"""

import contextlib
import io
import re
from collections import Counter, OrderedDict

from tinygrad import Context
from tinygrad.helpers import ansistrip

# "*** CPU  12 r_16_10_25_4  arg 4 mem 0.00 GB tm  20.09us/ 1869.05ms (...": the sum of all follows.
KERNEL = re.compile(
    r"^\*\*\* \S+ +\d+ (?P<name>.*?) +arg .* tm +(?P<took>[\d.]+)(?P<unit>[mu]?s) ?/"
)
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}


def profile(build, train, batches):
    """{kernel: seconds} of a pass over the batches, the slowest first."""
    model = build()
    for _ in range(3):  # compiled, recorded, replayed
        list(train(model, batches[:1]))
    printed = io.StringIO()
    with Context(DEBUG=2), contextlib.redirect_stdout(printed):
        list(train(model, batches))
    times = Counter()
    for line in ansistrip(printed.getvalue()).splitlines():
        kernel = KERNEL.match(line)
        if kernel:
            times[kernel["name"]] += float(kernel["took"]) * SECONDS[kernel["unit"]]
    return OrderedDict(times.most_common())
