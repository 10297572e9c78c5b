"""Profile PyTensor: the time of each operation.

Idiom: functions that are compiled with ``profile=True``, or while ``pytensor.config.profile`` is
    set, keep the time of each of their nodes; ``function.profile.summary()`` prints them.
Surprise: if the flag is still set when the program ends, PyTensor prints all profiles.
"""

from collections import Counter, OrderedDict

import pytensor


def profile(build, train, batches):
    """{operation: seconds} of a pass over the batches, the slowest first; the update too."""
    pytensor.config.profile = True
    try:
        model = build()
    finally:
        pytensor.config.profile = False
    train_step = model[0]
    list(train(model, batches[:1]))  # the first step allocates
    train_step.profile.reset()
    list(train(model, batches))
    times = Counter()
    for (_, node), seconds in train_step.profile.apply_time.items():
        times[str(node.op)] += seconds
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
