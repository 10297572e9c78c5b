"""Profile Caffe2: the time of each operator.

Idiom: ``workspace.BenchmarkNet`` runs a net repeatedly, and times each operator on its own.
Surprise: it runs the training net, so it trains, always on the last batch that was fed. The first
    number is for the whole net.
"""

from collections import OrderedDict

from caffe2.python import workspace


def profile(build, train, batches):
    """{operator: seconds} of a step, times the batches, the slowest first, including the update."""
    model = build()
    list(train(model, batches[:1]))  # feeds the batch
    net = model[0]
    _, *milliseconds = workspace.BenchmarkNet(net.Name(), 1, len(batches), True)
    times = {}
    for operator, took in zip(net.Proto().op, milliseconds):
        times[operator.type] = times.get(operator.type, 0) + len(batches) * took / 1e3
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
