"""MXNet's ``.params``: named arrays; the layers are in the ``-symbol.json`` beside it.

The format: ``NDArray::Save`` in src/ndarray/ndarray.cc of MXNet.
"""

import json
import os
import re
import struct

import numpy as np

from common.dump.contents import Contents, Refused, bfloat16, bytes_of, shaped
from common.dump.reader import Reader

MAGIC = struct.pack("<Q", 0x112)
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
TYPES = ("<f4", "<f8", "<f2", "u1", "<i4", "i1", "<i8", "?", "<i2", "<u2", "<u4", "<u8", "<u2")
BFLOAT16 = 12


def _array(reader, name):
    """The next array; None for one without a shape."""
    magic = reader.number("I")
    if magic in (V2, V3) and reader.number("i") != 0:
        raise Refused("%s is sparse" % name)
    if magic in (V1, V2, V3):
        count = reader.number("i" if magic == V3 else "I")
        shape = reader.numbers("q", max(count, 0))
        nothing = count < 0 or (count == 0 and magic != V3)
    else:  # older than the magic numbers: the number is that of the axes
        shape = reader.numbers("I", magic)
        nothing = magic == 0
    if nothing:
        return None
    reader.numbers("i", 2)  # the device
    kind = reader.number("i")
    if not 0 <= kind < len(TYPES):
        raise Refused("%s has an unknown type, %d" % (name, kind))
    dtype = np.dtype(TYPES[kind])
    array = shaped(name, reader.bytes(bytes_of(name, dtype, shape)), dtype, shape)
    return bfloat16(array) if kind == BFLOAT16 else array


def read(path, data):
    """``Contents`` of a ``.params``; names are those of the file, such as ``arg:conv0_weight``."""
    contents, reader = Contents(), Reader(data)
    reader.numbers("Q", 2)
    count = reader.number("Q")
    arrays = []
    for number in range(count):
        arrays.append(_array(reader, "array %d" % number))
    named = reader.number("Q")
    names = [
        bytes(reader.bytes(reader.number("Q"))).decode("utf-8", "replace") for _ in range(named)
    ]
    for number, array in enumerate(arrays):
        if array is not None:
            contents.add(names[number] if number < len(names) else str(number), array)
    contents.layers += _layers(re.sub(r"(-\d{4})?\.params$", "", path) + "-symbol.json")
    return contents


def _layers(path):
    """The nodes of a symbol's file; [] if there is none."""
    if not os.path.isfile(path):
        return []
    try:
        with open(path, encoding="utf-8") as file:
            nodes = json.load(file)["nodes"]
        inputs = [[str(nodes[place[0]]["name"]) for place in node["inputs"]] for node in nodes]
        return [
            (str(node["op"]), str(node["name"]), names, [str(node["name"])])
            for node, names in zip(nodes, inputs)
            if node["op"] != "null"
        ]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise Refused("%s is not a network's description" % os.path.basename(path))
