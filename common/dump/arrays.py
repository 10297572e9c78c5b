"""Plain files of arrays: ``.npz``, ``.npy`` and ``.safetensors``."""

import json

import numpy as np

from common.dump.contents import Contents, Refused, bfloat16, shaped

HEADER = 2**27  # bytes of a header in a .safetensors
TYPES = {"BOOL": "?", "U8": "u1", "I8": "i1", "BF16": "<u2"}
TYPES.update(("%s%d" % (k, 8 * n), "<%s%d" % (k.lower(), n)) for k in "FIU" for n in (2, 4, 8))


def _npy(file, name, size):
    """An array of an open ``.npy`` with ``size`` bytes."""
    version = np.lib.format.read_magic(file)
    header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if header is None:
        raise Refused("%s has an unknown version" % name)
    shape, fortran, dtype = header(file)
    if dtype.hasobject:
        raise Refused("%s holds objects, not numbers" % name)
    needed = dtype.itemsize * int(np.prod(shape, dtype=float))
    if needed > size:
        raise Refused("%s is shorter than its shape" % name)
    array = shaped(name, file.read(needed + 1), dtype, shape[::-1] if fortran else shape)
    return array.T if fortran else array


def npz(zipped):
    """``Contents`` of an open ``.npz``."""
    contents = Contents()
    for entry in zipped.infolist():
        if not entry.filename.endswith(".npy"):
            raise Refused("%r is no array" % entry.filename[:80])
        contents.take(entry.file_size)
        name = entry.filename[: -len(".npy")]
        with zipped.open(entry) as file:
            contents.add(name, _npy(file, name, entry.file_size))
    return contents


def is_safetensors(data):
    """Whether a file begins as a ``.safetensors``."""
    return data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data) - 8


def safetensors(data):
    """``Contents`` of a ``.safetensors``."""
    length = int.from_bytes(data[:8], "little")
    if length > HEADER:
        raise Refused("its header is too long")
    contents, header = Contents(), json.loads(bytes(data[8 : 8 + length]).decode())
    numbers = memoryview(data)[8 + length :]
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        if not 0 <= start <= end <= len(numbers):
            raise Refused("%s goes beyond the file" % name)
        if entry["dtype"] not in TYPES:
            raise Refused("%s is %s, which NumPy does not have" % (name, entry["dtype"]))
        array = shaped(name, numbers[start:end], TYPES[entry["dtype"]], entry["shape"])
        contents.add(name, bfloat16(array) if entry["dtype"] == "BF16" else array)
    return contents
