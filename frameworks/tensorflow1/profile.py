"""Profiling TensorFlow 1: what each operation takes.

Idiom: ``session.run`` with ``FULL_TRACE`` fills a ``RunMetadata``; its ``step_stats`` have the time
    of each node on each device.
Surprise: without ``run_metadata`` the trace is made and thrown away.
"""

from collections import OrderedDict
from functools import partial

import tensorflow.compat.v1 as tf


def profile(build, train, batches):
    """{operation: seconds} of a pass over the batches, the slowest first; the update too."""
    model = build()
    session = model[0]
    list(train(model, batches[:1]))  # the first step allocates
    plain, times = session.run, {}
    for batch in batches:
        told = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run = partial(plain, options=options, run_metadata=told)
        list(train(model, [batch]))
        for device in told.step_stats.dev_stats:
            for node in device.node_stats:
                kind = node.timeline_label.split(" = ")[-1].split("(")[0]
                took = node.op_end_rel_micros - node.op_start_rel_micros
                times[kind] = times.get(kind, 0) + took / 1e6
    session.run = plain
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))
