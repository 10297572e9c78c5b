"""Profiling Chainer: what each function takes.

Idiom: the function hook ``TimerHook`` around the steps.
Surprise: it sees functions alone, forward and backward under one name; the optimiser is none.
"""

from collections import OrderedDict

from chainer import function_hooks


def profile(build, train, batches):
    """{function: seconds} of a pass over the batches, the slowest first; forward and backward."""
    model = build()
    list(train(model, batches[:1]))  # the first step allocates
    with function_hooks.TimerHook() as hook:
        list(train(model, batches))
    times = {name: found["elapsed_time"] for name, found in hook.summary().items()}
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
