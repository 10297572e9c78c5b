"""MindSpore's ``.ckpt``: protocol buffers, a parameter in each value.

The schema: mindspore/ccsrc/utils/checkpoint.proto in MindSpore's repository. A parameter of more
than 512 MB is in several values with one tag.
"""

import itertools
import zlib

import numpy as np

from common.dump.contents import Contents, Refused, bfloat16, shaped
from common.dump.protobuf import Message

ENCRYPTED = b"\xd8\x5e\x3a\x7f"
SUM = b"crc_num"  # before a checksum of ten bytes at the file's end, if there is one
TYPES = {"Bool": "?", "BFloat16": "<u2", "str": None}
TYPES.update(("Float%d" % bits, "<f%d" % (bits // 8)) for bits in (16, 32, 64))
for _bits in (8, 16, 32, 64):
    TYPES["Int%d" % _bits] = "<i%d" % (_bits // 8)
    TYPES["UInt%d" % _bits] = TYPES["Uint%d" % _bits] = "<u%d" % (_bits // 8)


def plain(data):
    """The file's bytes without the checksum; refused if it is another one."""
    if data[:4] == ENCRYPTED:
        raise Refused("it is encrypted")
    end = len(data) - 10
    if data[end - len(SUM) : end] != SUM:
        return data
    data, given = data[: end - len(SUM)], int.from_bytes(data[end:], "big")
    if zlib.crc32(data) != given:
        raise Refused("its checksum is wrong")
    return data


def is_one(message):
    """Whether a message is a checkpoint: its first value has a tag and a type."""
    if set(message.fields) != {1} or not message.is_bytes(1):
        return False
    try:
        value = Message(message.all(1)[0])
        tensor = value.message(2)
    except Refused:
        return False
    typed = tensor.text(2).isidentifier() and tensor.is_bytes(3)
    return value.is_bytes(1) and (typed or value.is_bytes(3))


def read(message):
    """``Contents`` of a checkpoint; arrays are named by their tags. Texts are left out."""
    contents = Contents()
    for name, values in itertools.groupby(message.inner(1), lambda value: value.text(1)):
        values = list(values)
        if any(3 in value.fields for value in values):
            raise Refused("%s is a map, not an array" % name)
        tensors = [value.message(2) for value in values]
        kind, shape = tensors[0].text(2), tensors[0].integers(1)
        if any((tensor.text(2), tensor.integers(1)) != (kind, shape) for tensor in tensors):
            raise Refused("%s has parts of several types or shapes" % name)
        if kind not in TYPES:
            raise Refused("%s is %s, which NumPy does not have" % (name, kind))
        if TYPES[kind] is None:
            continue
        data = b"".join(bytes(tensor.one(3, b"")) for tensor in tensors)
        if shape == [0] and len(data) == np.dtype(TYPES[kind]).itemsize:
            shape = []  # how older versions write a number
        array = shaped(name, data, TYPES[kind], shape)
        contents.add(name, bfloat16(array) if kind == "BFloat16" else array)
    return contents
