"""Plain files of arrays: ``.npz`` and ``.safetensors``."""

import io

import numpy as np

from common.dump.contents import Contents, Refused, shaped
from common.system import array_files, safetensors


def _npy(file, name, size):
    """An array of an open ``.npy`` with ``size`` bytes; None for a text or a single object."""
    header = array_files.HEADERS.get(np.lib.format.read_magic(file))
    if header is None:
        raise Refused("%s has an unknown version" % name)
    shape, fortran, dtype = header(file)
    if dtype.kind in "SU" or (dtype.hasobject and shape == ()):
        return None  # as in a snapshot of a trainer: its log, and None
    if dtype.hasobject:
        raise Refused("%s contains objects, not numbers" % name)
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
            raise Refused("%r is not an array" % entry.filename[:80])
        contents.take(entry.file_size)
        name = entry.filename[: -len(".npy")]
        with zipped.open(entry) as file:
            array = _npy(file, name, entry.file_size)
        if array is not None:
            contents.add(name, array)
    return contents


def is_safetensors(data):
    """Whether a file begins as a ``.safetensors``."""
    return data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data) - 8


def read_safetensors(data):
    """``Contents`` of a ``.safetensors``."""
    contents, file = Contents(), io.BytesIO(data)
    for name, entry in safetensors.entries(file, len(data)).items():
        if entry.dtype not in safetensors.READABLE:
            raise Refused("%s is %s, which NumPy does not have" % (name, entry.dtype))
        contents.take(entry.end - entry.start)
        contents.add(name, safetensors.array(file, entry))
    return contents
