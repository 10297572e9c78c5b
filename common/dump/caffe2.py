"""Caffe2's ``init_net`` and ``predict_net``: operators; those that fill in values are weights."""

import os

import numpy as np

from common.dump.contents import Contents, Refused, bytes_of, shaped
from common.dump.protobuf import Message

CONSTANT = "ConstantFill"
TYPES = {1: "f4", 2: "i4", 5: "?", 10: "i8", 13: "f8"}  # Caffe2's numbers of types
FILLS = {
    "GivenTensorFill": "f4",
    "GivenTensorDoubleFill": "f8",
    "GivenTensorIntFill": "i4",
    "GivenTensorInt64Fill": "i8",
    "GivenTensorBoolFill": "?",
}


def is_one(net):
    """Whether a message is a NetDef with operators."""
    operators = net.inner_if_any(2)
    return bool(operators) and all(
        operator.is_bytes(4) and operator.text(4).isidentifier() for operator in operators
    )


def _arguments(operator):
    return {argument.text(1): argument for argument in operator.inner(5)}


def _filled(operator, contents):
    name, dtype = operator.texts(2)[0], FILLS[operator.text(4)]
    arguments = _arguments(operator)
    if "values" not in arguments or "shape" not in arguments:
        raise Refused("%s is empty" % name)
    values = arguments["values"]
    real = dtype.startswith("f")
    numbers = values.floats(5) if real else np.array(values.integers(6), np.int64)
    numbers = numbers.astype(dtype)
    shape = arguments["shape"].integers(6)
    contents.add(name, shaped(name, numbers.tobytes(), dtype, shape))


def _constant(operator, contents):
    """Add what a ConstantFill makes of its arguments alone; 0 by default."""
    name, arguments = operator.texts(2)[0], _arguments(operator)
    kind = arguments["dtype"].one(3) if "dtype" in arguments else 1
    if "shape" not in arguments or kind not in TYPES:
        raise Refused("%s has no shape, or the type %d" % (name, kind))
    shape, dtype = arguments["shape"].integers(6), np.dtype(TYPES[kind])
    value = arguments["value"].floats(2) if "value" in arguments else []
    if "value" in arguments and not len(value):
        value = arguments["value"].integers(3)
    size = bytes_of(name, dtype, shape)
    if min(shape, default=0) < 0:
        raise Refused("%s has a size below 0" % name)
    contents.take(size)
    contents.add(name, np.full(shape, value[0] if len(value) else 0, dtype))


def read(net, path):
    """``Contents`` of a NetDef; an ``init_net`` has the layers of the ``predict_net`` beside it."""
    contents = Contents()
    for operator in net.inner(2):
        if operator.text(4) in FILLS:
            _filled(operator, contents)
        elif operator.text(4) == CONSTANT and not operator.texts(1):
            _constant(operator, contents)
        elif "GivenTensor" in operator.text(4):
            raise Refused("it has a %s, which is not read here" % operator.text(4))
        contents.layers.append(_layer(operator))
    folder, file = os.path.split(path)
    other = os.path.join(folder, file.replace("init_net", "predict_net"))
    if contents.arrays and other != path and os.path.isfile(other):
        with open(other, "rb") as predict_net:
            contents.layers = [_layer(op) for op in Message(predict_net.read()).inner(2)]
    return contents


def _layer(operator):
    return operator.text(4), operator.text(3), operator.texts(1), operator.texts(2)
