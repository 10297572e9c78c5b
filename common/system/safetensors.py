"""The format ``.safetensors`` by hand: a length, a header in JSON, and the numbers.

https://github.com/huggingface/safetensors#format. The library needs Python 3.10.
"""

import json
from collections import OrderedDict, namedtuple

import numpy as np

LONGEST = 10**8  # bytes of a header
AXES = 64  # that NumPy allows; a product of millions of sizes would take hours
# {a type's name in NumPy: its name in the file}.
TYPES = {"bool": "BOOL"}
TYPES.update(("float%d" % n, "F%d" % n) for n in (16, 32, 64))
TYPES.update(("int%d" % n, "I%d" % n) for n in (8, 16, 32, 64))
TYPES.update(("uint%d" % n, "U%d" % n) for n in (8, 16, 32, 64))
NAMES = {name: dtype for dtype, name in TYPES.items()}
BFLOAT16 = "BF16"  # NumPy has no such type; such arrays become float32
READABLE = tuple(NAMES) + (BFLOAT16,)

Entry = namedtuple("Entry", "dtype shape start end")
Entry.__doc__ = """An array: its type's name in the file, its shape, and its place in the file."""


def entries(file, size):
    """{name: ``Entry``} of an open file with ``size`` bytes, in the order of the numbers.

    ValueError for a header that is wrong, or says more than the file holds.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > min(LONGEST, size - 8):
        raise ValueError("its header goes beyond the file")
    header = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_once)
    found = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + length + int(place) for place in entry["data_offsets"])
        shape = tuple(int(n) for n in entry["shape"])
        if not 8 + length <= start <= end <= size or min(shape, default=0) < 0 or len(shape) > AXES:
            raise ValueError("%s goes beyond the file" % name)
        item = np.dtype(NAMES[entry["dtype"]]).itemsize if entry["dtype"] in NAMES else 2
        for n in shape:
            item *= n
        if entry["dtype"] in READABLE and item != end - start:
            raise ValueError("%s has %d bytes, which is not its shape" % (name, end - start))
        found.append((name, Entry(entry["dtype"], shape, start, end)))
    found.sort(key=lambda pair: (pair[1].start, pair[1].end))
    for (_, first), (name, second) in zip(found, found[1:]):
        if second.start < first.end:
            raise ValueError("%s has numbers of the array before it" % name)
    return OrderedDict(found)


def _once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("a name is there twice")
    return OrderedDict(pairs)


def array(file, entry):
    """The numbers of an entry, whose type must be one of ``READABLE``."""
    file.seek(entry.start)
    data = file.read(entry.end - entry.start)
    if entry.dtype == BFLOAT16:
        bits = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).reshape(entry.shape)
    dtype = np.dtype(NAMES[entry.dtype]).newbyteorder("<")
    return np.array(np.frombuffer(data, dtype).reshape(entry.shape))


def write(file, arrays, metadata=None):
    """Write {name: array} to an open file. metadata: {word: word}."""
    header, at, numbers = OrderedDict(), 0, []
    if metadata:
        header["__metadata__"] = metadata
    for name, values in arrays.items():
        values = np.array(values, order="C")
        numbers.append(values.astype(values.dtype.newbyteorder("<")).tobytes())
        end = at + len(numbers[-1])
        header[name] = OrderedDict(
            dtype=TYPES[values.dtype.name], shape=list(values.shape), data_offsets=[at, end]
        )
        at = end
    text = json.dumps(header).encode("utf-8")
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    file.write(len(text).to_bytes(8, "little") + text)
    for part in numbers:
        file.write(part)
