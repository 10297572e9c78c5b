"""Arrays by name in a file: NumPy's .npz, or .safetensors. Reading one runs nothing in it."""

import os
import zipfile
from collections import OrderedDict

import numpy as np

from common.host.errors import InputError
from common.host.files import atomic_write

ENDINGS = (".npz", ".safetensors")
HEADER = 4096  # bytes that an array's header in an .npz may take


def ending(path):
    """The file's kind, one of ``ENDINGS``; InputError if it is none of them."""
    found = os.path.splitext(path)[1]
    if found not in ENDINGS:
        raise InputError("%s: the name must end in %s" % (path, " or ".join(ENDINGS)))
    return found


def write(path, arrays):
    """Write {name: array}, whole or not at all."""
    kind = ending(path)
    with atomic_write(path) as file:
        if kind == ".npz":
            np.savez_compressed(file, **arrays)
        else:
            from safetensors.numpy import save

            arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
            file.write(save(arrays))


def read(path, shapes, what="answer"):
    """{name: array} of ``path``, each of them known, with its shape, and of floats or integers.

    shapes: {name: shape} of all that may be there. InputError names the file and the fault.
    """
    kind = ending(path)
    try:
        found = _npz(path, shapes, what) if kind == ".npz" else _safetensors(path, shapes, what)
    except InputError:
        raise
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror or error))
    except Exception as error:  # bytes that are no honest file can raise almost anything
        raise InputError("%s is no %s file: %s" % (path, kind, str(error)[:100]))
    return found


def _check(path, shapes, what, name, shape, dtype):
    if name not in shapes:
        raise InputError("%s: %r is no %s of this challenge" % (path, name, what))
    if tuple(shape) != tuple(shapes[name]):
        told = (path, name, tuple(shape), tuple(shapes[name]))
        raise InputError("%s: %s has shape %s, not %s" % told)
    if dtype not in (np.float32, np.float64, np.int64) or dtype.hasobject:
        raise InputError("%s: %s is %s, not float32" % (path, name, dtype))


def _npz(path, shapes, what):
    found = OrderedDict()
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename[: -len(".npy")]
            if not entry.filename.endswith(".npy"):
                raise InputError("%s: %r is no array" % (path, entry.filename))
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, _, dtype = header(file)
            _check(path, shapes, what, name, shape, dtype)
            if entry.file_size > np.prod(shape, dtype=int) * dtype.itemsize + HEADER:
                raise InputError("%s: %s is longer than its shape" % (path, name))
            with archive.open(entry) as file:
                found[name] = np.lib.format.read_array(file, allow_pickle=False)
    return found


def _safetensors(path, shapes, what):
    from safetensors import safe_open

    kinds = {"F32": np.dtype(np.float32), "F64": np.dtype(np.float64), "I64": np.dtype(np.int64)}
    with open(path, "rb"):  # for the system's own words, should there be no such file
        pass
    found = OrderedDict()
    with safe_open(path, framework="np") as file:
        for name in file.keys():
            part = file.get_slice(name)
            dtype = kinds.get(part.get_dtype(), np.dtype(object))
            _check(path, shapes, what, name, part.get_shape(), dtype)
            found[name] = file.get_tensor(name)
    return found
