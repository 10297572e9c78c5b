"""TensorFlow: frozen graphs, and checkpoints of both kinds."""

import os

import numpy as np

from common.dump import sstable
from common.dump.contents import Contents, Refused, bfloat16, shaped
from common.dump.protobuf import Message

# {TensorFlow's number of a type: (NumPy's, the field of a TensorProto that holds its values)}.
TYPES = {
    1: ("<f4", 5),
    2: ("<f8", 6),
    3: ("<i4", 7),
    4: ("u1", 7),
    5: ("<i2", 7),
    6: ("i1", 7),
    9: ("<i8", 10),
    8: ("<c8", 9),
    10: ("?", 11),
    14: ("<u2", 13),  # bfloat16
    17: ("<u2", 7),
    18: ("<c16", 12),
    19: ("<f2", 13),
    22: ("<u4", 16),
    23: ("<u8", 17),
}
TEXT, BFLOAT16 = 7, 14


def _dtype(kind, name):
    if kind not in TYPES:
        raise Refused("%s has the type %d, which NumPy does not have" % (name, kind))
    return np.dtype(TYPES[kind][0])


def _shape(message):
    """The sizes of a TensorShapeProto."""
    return [int(dim.integers(1)[-1]) if dim.fields.get(1) else 0 for dim in message.inner(2)]


def tensor(message, name, kind=None, shape=None):
    """A TensorProto as an array; in a graph, a single value may stand for all.

    kind, shape: those written elsewhere, in a checkpoint.
    """
    whole = kind is not None or message.is_bytes(4)
    kind = message.one(1) if kind is None else kind
    dtype, shape = _dtype(kind, name), _shape(message.message(2)) if shape is None else shape
    if message.is_bytes(4):
        values = np.frombuffer(bytes(message.one(4)), dtype)
    elif dtype.kind in "fc" and dtype.itemsize > 2:
        real = np.dtype("<f%d" % (dtype.itemsize // (2 if dtype.kind == "c" else 1)))
        values = message.floats(TYPES[kind][1], real).view(dtype)
    else:
        wide = np.array(message.integers(TYPES[kind][1]), np.int64)
        half = kind in (BFLOAT16, 19)
        values = wide.astype(np.uint16).view(dtype) if half else wide.astype(dtype)
    size = int(np.prod(shape, dtype=float))
    # The last one stands for all that are missing; none at all, for zeros.
    if len(values) < size and not whole:
        Contents().take(2 * size * dtype.itemsize)
        last = values[-1] if len(values) else 0
        values = np.append(values, np.full(size - len(values), last, values.dtype))
    array = shaped(name, values.tobytes(), dtype, shape)
    return bfloat16(array) if kind == BFLOAT16 else array


def is_graph(message):
    """Whether a message is a GraphDef with nodes."""
    nodes = message.inner_if_any(1)
    return bool(nodes) and all(node.is_bytes(1) and node.is_bytes(2) for node in nodes)


def graph(message):
    """``Contents`` of a GraphDef: its constants, and those of its functions, such as loops."""
    contents = Contents()
    _add_nodes(message.inner(1), contents, "")
    for function in message.message(2).inner(1):
        _add_nodes(function.inner(3), contents, function.message(1).text(1) + "/")
    if not contents.arrays:
        raise Refused("the graph has no constants: its weights are in a checkpoint")
    return contents


def _add_nodes(nodes, contents, start):
    """Add nodes to the layers, and constants among them to the arrays."""
    for node in nodes:
        name = start + node.text(1)
        contents.layers.append((node.text(2), name, node.texts(3), [name]))
        for attribute in node.inner(5) if node.text(2) == "Const" else ():
            if attribute.text(1) == "value":
                value = attribute.message(2).message(8)
                if value.one(1) != TEXT:
                    contents.add(name, tensor(value, name))


def checkpoint(path, table):
    """``Contents`` of a checkpoint of the second kind, whose index is ``table``."""
    contents, prefix = Contents(), path[: -len(".index")] if path.endswith(".index") else path
    header = Message(table.get(b"", b""))
    shards = header.one(1, 1)
    if header.one(2):
        raise Refused("its numbers are not little-endian")
    for key, value in table.items():
        entry, name = Message(value), key.decode("utf-8", "replace")
        if not key or entry.one(1) == TEXT:
            continue
        if entry.fields.get(7):
            raise Refused("%s is in slices" % name)
        dtype, shard = _dtype(entry.one(1), name), entry.one(3)
        if shard >= shards:
            raise Refused("%s is in a part that the index does not have" % name)
        size = entry.one(5)
        contents.take(size)
        part = "%s.data-%05d-of-%05d" % (prefix, shard, shards)
        try:
            with open(part, "rb") as file:
                if entry.one(4) + size > os.path.getsize(part):
                    raise Refused("%s goes beyond %s" % (name, os.path.basename(part)))
                file.seek(entry.one(4))
                array = shaped(name, file.read(size), dtype, _shape(entry.message(2)))
        except OSError as error:
            raise Refused("%s: %s" % (os.path.basename(part), error.strerror))
        contents.add(name, bfloat16(array) if entry.one(1) == BFLOAT16 else array)
    return contents


def old_checkpoint(table):
    """``Contents`` of a checkpoint of the first kind, which is one file."""
    contents = Contents()
    meta = {
        m.text(1): (m.one(3), _shape(m.message(2))) for m in Message(table[b""]).message(1).inner(1)
    }
    for key, value in table.items():
        if not key:
            continue
        piece = Message(value).message(2)
        name = piece.text(1)
        if any(extent.fields for extent in piece.message(2).inner(1)):
            raise Refused("%s is in slices" % name)
        if name not in meta:
            raise Refused("%s is not in its list" % name)
        if meta[name][0] != TEXT:
            contents.add(name, tensor(piece.message(3), name, *meta[name]))
    return contents


def tables(path, data):
    """``Contents`` of a file that is a table: an index, or a checkpoint of the first kind."""
    table = sstable.read(data)
    header = Message(table.get(b"", b""))
    old = header.is_bytes(1)
    return old_checkpoint(table) if old else checkpoint(path, table)
