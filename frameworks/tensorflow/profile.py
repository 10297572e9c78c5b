"""Profile TensorFlow: the time of each operation.

Idiom: ``tf.profiler.experimental.Profile`` around the steps writes into a folder what TensorBoard
    shows; the file in it is a protocol buffer, ``XSpace``.
Surprise: a graph's operations, NODE:OPERATION, are among the events of Python and the executor.
    Only a node's scope distinguishes a dropout's product from the update's.
"""

import glob
import os
import re
import tempfile
from collections import OrderedDict

import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

OPERATION = re.compile(r"([^:\s]+):(\w+)$")
NUMBER = re.compile(r"(_\d+)+(?=/|$)")  # which makes a name unique


def profile(build, train, batches):
    """{SCOPE > OPERATION: seconds} of a pass over the batches, the slowest first."""
    model = build()
    list(train(model, batches[:1]))  # the first step traces the graph
    with tempfile.TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder):
            for loss in train(model, batches):
                float(loss)
        (path,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        space = xplane_pb2.XSpace()
        with open(path, "rb") as file:
            space.ParseFromString(file.read())
    times = {}
    for plane in space.planes:
        for event in (event for line in plane.lines for event in line.events):
            operation = OPERATION.match(plane.event_metadata[event.metadata_id].name)
            if operation:
                one = name(*operation.groups())
                times[one] = times.get(one, 0) + event.duration_ps / 1e12
    return OrderedDict(sorted(times.items(), key=lambda item: -item[1]))


def name(node, operation):
    """The operation, after its node's scope without numbers."""
    scope = NUMBER.sub("", os.path.dirname(node))
    return "%s > %s" % (scope, operation) if scope else operation
