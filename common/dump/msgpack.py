"""Flax's ``.msgpack``: nested dictionaries of arrays, in MessagePack.

The format: https://github.com/msgpack/msgpack/blob/master/spec.md. An array is an extension that
holds its shape, its type's name and its bytes; one larger than a gigabyte is in chunks.
"""

import numpy as np

from common.dump import pickles
from common.dump.contents import Contents, Refused, bfloat16, shaped
from common.dump.reader import Reader

ARRAY, SCALAR = 1, 3  # extensions of Flax; 2 is a complex number
TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
TYPES = frozenset((TYPES + "complex64 complex128 bfloat16").split())
CHUNKED = "__msgpack_chunked_array__"
NUMBERS = dict(zip(range(0xCA, 0xD4), "fdBHIQbhiq"))  # the first byte of a number, and its form
LENGTHS = ("B", "H", "I")


def is_one(data):
    """Whether a file begins with a dictionary whose first key is a text."""
    first = data[0] if data else 0
    at = 1 if 0x81 <= first <= 0x8F else {0xDE: 3, 0xDF: 5}.get(first)
    key = data[at] if at and at < len(data) else 0
    return 0xA0 <= key < 0xC0 or 0xD9 <= key <= 0xDB


def value(reader, depth=0):
    """The next value; an extension becomes an array, or None if it is no array."""
    if depth > pickles.DEEPEST:
        raise Refused("it is nested more than %d times" % pickles.DEEPEST)
    first = reader.number("B")
    if first < 0x80 or first >= 0xE0:
        return first if first < 0x80 else first - 256
    if first in NUMBERS:
        return reader.number(NUMBERS[first])
    if first in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[first]
    if 0xD4 <= first <= 0xD8:
        return _extension(reader, 1 << (first - 0xD4), depth)
    if 0xC7 <= first <= 0xC9:
        return _extension(reader, reader.number(LENGTHS[first - 0xC7]), depth)
    if 0xC4 <= first <= 0xC6:
        return bytes(reader.bytes(reader.number(LENGTHS[first - 0xC4])))
    if 0xA0 <= first < 0xC0 or 0xD9 <= first <= 0xDB:
        size = first - 0xA0 if first < 0xC0 else reader.number(LENGTHS[first - 0xD9])
        return bytes(reader.bytes(size)).decode("utf-8", "replace")
    if 0x90 <= first < 0xA0 or first in (0xDC, 0xDD):
        count = first - 0x90 if first < 0xA0 else reader.number(LENGTHS[first - 0xDB])
        return [value(reader, depth + 1) for _ in range(count)]
    if 0x80 <= first < 0x90 or first in (0xDE, 0xDF):
        count = first - 0x80 if first < 0x90 else reader.number(LENGTHS[first - 0xDD])
        return dict(_item(reader, depth) for _ in range(count))
    raise Refused("it is not MessagePack")


def _item(reader, depth):
    key = value(reader, depth + 1)
    if not isinstance(key, (str, int, bytes)):  # texts of containers grow with each level
        raise Refused("it has a key that is no name")
    return str(key), value(reader, depth + 1)


def _extension(reader, size, depth):
    kind = reader.number("b")
    data = Reader(reader.bytes(size), ">")
    return _array(value(data, depth + 1)) if kind in (ARRAY, SCALAR) else None


def _array(parts):
    shape, name, data = parts
    name = name if isinstance(name, str) else name.decode("ascii", "replace")
    if name not in TYPES:
        raise Refused("it has an array of the type %s" % name[:40])
    short = name == "bfloat16"
    array = shaped("an array", data, "<u2" if short else np.dtype(name), shape)
    return bfloat16(array) if short else array


def _joined(item):
    """An array that is in chunks as one; anything else as it is."""
    if not (isinstance(item, dict) and CHUNKED in item):
        return item
    shape, chunks = (
        [item[key][str(n)] for n in range(len(item[key]))] for key in ("shape", "chunks")
    )
    data = np.concatenate([np.ravel(chunk) for chunk in chunks])
    return shaped("an array", data.tobytes(), data.dtype, shape)


def read(data):
    """``Contents`` of a file; arrays are named by their path, such as ``params/conv1/kernel``."""
    contents, reader = Contents(), Reader(data, ">")
    tree = value(reader)
    if reader.at != len(data):
        raise Refused("it goes on after its end")
    pickles.walk(tree, contents, _joined)
    return contents
