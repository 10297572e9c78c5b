"""Profile TensorFlow 1: the time of each operation.

Idiom: ``session.run`` with ``FULL_TRACE`` fills a ``RunMetadata``; its ``step_stats`` have the time
    of each node on each device.
Surprise: without ``run_metadata`` the trace is made and discarded. Only a node's scope
    distinguishes a dropout's product from another.
"""

import os
import re
from collections import OrderedDict
from functools import partial

import tensorflow as tf

NUMBER = re.compile(r"(_\d+)+(?=/|$|_grad)")  # which makes a name unique


def profile(build, train, batches):
    """{SCOPE > OPERATION: seconds} of a pass over the batches, the slowest first."""
    model = build()
    session = model[0]
    list(train(model, batches[:1]))  # the first step allocates
    plain, times = session.run, {}
    for batch in batches:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run = partial(plain, options=options, run_metadata=metadata)
        list(train(model, [batch]))
        for device in metadata.step_stats.dev_stats:
            for node in device.node_stats:
                kind = node.timeline_label.split(" = ")[-1].split("(")[0]
                took = node.op_end_rel_micros - node.op_start_rel_micros
                one = name(node.node_name, kind)
                times[one] = times.get(one, 0) + took / 1e6
    session.run = plain
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def name(node, operation):
    """The operation, after its node's scope without numbers."""
    scope = NUMBER.sub("", os.path.dirname(node))
    return "%s > %s" % (scope, operation) if scope else operation
