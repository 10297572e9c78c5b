"""ONNX: the initializers of the graph and of graphs inside it, and constants among the nodes."""

import numpy as np

from common.dump.contents import Contents, Refused, bfloat16, shaped

# {ONNX's number of a type: NumPy's}; 16 is bfloat16.
TYPES = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2"}
TYPES.update({11: "<f8", 12: "<u4", 13: "<u8", 14: "<c8", 15: "<c16", 16: "<u2"})
TEXT = 8
DEEPEST = 50  # graphs inside graphs
INT32 = (2, 3, 4, 5, 6, 9, 10, 16)  # types that may be in the field int32_data


def tensor(message, name):
    """A TensorProto as an array."""
    if message.fields.get(13) or message.one(14) == 1:
        raise Refused("%s is in another file" % name)
    kind, shape = message.one(2), message.integers(1)
    if kind not in TYPES:
        raise Refused("%s has the type %d, which NumPy does not have" % (name, kind))
    dtype = np.dtype(TYPES[kind])
    if message.is_bytes(9):
        data = bytes(message.one(9))
    elif kind in INT32:
        wide = np.array(message.integers(5), np.int64)
        narrow = wide.astype(np.uint16).view(dtype) if kind in (10, 16) else wide.astype(dtype)
        data = narrow.tobytes()
    elif kind in (12, 13):
        wide = np.array([n % 2**64 for n in message.integers(11)], np.uint64)
        data = wide.astype(dtype).tobytes()
    elif kind == 7:
        data = np.array(message.integers(7), np.int64).tobytes()
    else:
        double = kind in (11, 15)
        data = message.floats(10 if double else 4, "<f8" if double else "<f4").tobytes()
    array = shaped(name, data, dtype, shape)
    return bfloat16(array) if kind == 16 else array


def read(model):
    """``Contents`` of a ModelProto."""
    contents = Contents()
    _add_graph(model.message(7), contents, "", 0)
    for function in model.inner(25):
        _add_nodes(function.inner(7), contents, function.text(1) + "/", 0)
    return contents


def _add_graph(graph, contents, path, depth):
    """Add a graph's arrays, and those of its nodes' graphs, such as the branches of an If."""
    if depth > DEEPEST:
        raise Refused("it is nested more than %d times" % DEEPEST)
    for message in graph.inner(5):
        if message.one(2) != TEXT:
            contents.add(path + message.text(8), tensor(message, path + message.text(8)))
    if graph.fields.get(15):
        raise Refused("it contains sparse tensors")
    _add_nodes(graph.inner(1), contents, path, depth)


def _add_nodes(nodes, contents, path, depth):
    """Add nodes to the layers; of constants and inner graphs, also the arrays."""
    for node in nodes:
        outputs = node.texts(2)
        contents.layers.append((node.text(4), node.text(3), node.texts(1), outputs))
        for attribute in node.inner(5):
            if node.text(4) == "Constant" and outputs:
                value = _constant(attribute, path + outputs[0])
                if value is not None:
                    contents.add(path + outputs[0], value)
            for inside in attribute.inner(6) + attribute.inner(11):
                start = "%s%s.%s/" % (path, "".join(outputs[:1]), attribute.text(1))
                _add_graph(inside, contents, start, depth + 1)


def _constant(attribute, name):
    """The value of a constant, in whichever way it is written; None for a text."""
    kind = attribute.text(1)
    if kind == "value":
        return tensor(attribute.message(5), name)
    if kind in ("value_float", "value_floats"):
        values = attribute.floats(2 if kind == "value_float" else 7)
    elif kind in ("value_int", "value_ints"):
        values = np.array(attribute.integers(3 if kind == "value_int" else 8), np.int64)
    elif kind == "sparse_value":
        raise Refused("it contains sparse tensors")
    else:
        return None
    return values.reshape(()) if kind in ("value_float", "value_int") else values
