"""Named arrays in a file, .npz or .safetensors. Reading never runs code from the file."""

import importlib.util
import json
import os
import zipfile
from collections import OrderedDict

import numpy as np
import psutil

from common.system.errors import InputError
from common.system.files import atomic_write

ENDINGS = (".npz", ".safetensors")
HEADER = 4096  # bytes allowed for an array's header in an .npz
NUMBERS = "biuf"  # NumPy's kinds that are accepted if no shapes are given
# {a type's name in NumPy: its name in .safetensors}.
TYPES = {"bool": "BOOL"}
TYPES.update(("float%d" % n, "F%d" % n) for n in (16, 32, 64))
TYPES.update(("int%d" % n, "I%d" % n) for n in (8, 16, 32, 64))
TYPES.update(("uint%d" % n, "U%d" % n) for n in (8, 16, 32, 64))


def ending(path):
    """The file's ending, one of ``ENDINGS``; InputError for any other."""
    kind = os.path.splitext(path)[1]
    if kind not in ENDINGS:
        raise InputError("%s: the name must end in %s" % (path, " or ".join(ENDINGS)))
    if kind == ".safetensors" and importlib.util.find_spec("safetensors") is None:
        raise InputError("%s: there is no safetensors for this Python; use .npz" % path)
    return kind


def write(path, arrays, metadata=None):
    """Write {name: array} atomically. metadata: {word: word} for a .safetensors."""
    kind = ending(path)
    with atomic_write(path) as file:
        if kind == ".npz":
            np.savez_compressed(file, **arrays)
        else:
            from safetensors.numpy import save

            arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
            file.write(save(arrays, metadata))


def read(path, shapes=None, what="array", dtypes=("float32",)):
    """{name: array} of a file, in the order of the file; InputError names the file and the fault.

    shapes: {name: shape} of all allowed arrays, whose types must be among ``dtypes``; None accepts
        any numbers that fit into memory.
    what: the word for an array in messages.
    """
    read_arrays = {".npz": _npz, ".safetensors": _safetensors}[ending(path)]
    try:
        return read_arrays(path, shapes, what, dtypes)
    except InputError:
        raise
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror or error))
    except Exception as error:  # a broken file can raise almost anything
        fault = " ".join(str(error).split())[:100]
        raise InputError("%s is no %s file: %s" % (path, ending(path), fault))


def _check_name(path, shapes, what, name, arrays):
    if shapes is not None and name not in shapes:
        raise InputError("%s: %r is no %s" % (path, name, what))
    if name in arrays:
        raise InputError("%s: %s is there twice" % (path, name))


def _check_room(path, name, room):
    if room < 0:
        raise InputError("%s: %s does not fit into the memory that is free" % (path, name))


def _check_form(path, name, shape, expected, dtype, dtypes):
    if tuple(shape) != tuple(expected):
        values = (path, name, tuple(shape), tuple(expected))
        raise InputError("%s: %s has shape %s, not %s" % values)
    if dtype not in dtypes:
        raise InputError("%s: %s is %s, not %s" % (path, name, dtype, dtypes[0]))


def _npz(path, shapes, what, dtypes):
    arrays, room = OrderedDict(), psutil.virtual_memory().available
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            name = entry.filename[: -len(".npy")]
            if not entry.filename.endswith(".npy"):
                raise InputError("%s: %r is no array" % (path, entry.filename))
            _check_name(path, shapes, what, name, arrays)
            if shapes is None:
                room -= entry.file_size
                _check_room(path, name, room)
            elif entry.file_size > 8 * np.prod(shapes[name], dtype=int) + HEADER:
                raise InputError("%s: %s is longer than its shape" % (path, name))
            with archive.open(entry) as file:
                header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[np.lib.format.read_magic(file)]
                shape, _, dtype = header(file)
            if shapes is not None:
                _check_form(path, name, shape, shapes[name], str(dtype), dtypes)
            elif dtype.kind not in NUMBERS:
                raise InputError("%s: %s is %s, not numbers" % (path, name, dtype))
            elif dtype.itemsize * np.prod(shape, dtype=float) > entry.file_size:
                raise InputError("%s: %s is shorter than its shape" % (path, name))
            with archive.open(entry) as file:
                arrays[name] = np.array(
                    np.lib.format.read_array(file, allow_pickle=False), order="C"
                )
    return arrays


def _safetensors(path, shapes, what, dtypes):
    from safetensors import safe_open

    dtypes = [TYPES[name] for name in dtypes]
    with open(path, "rb"):  # for the system's own message if there is no such file
        pass
    if shapes is None:
        room = psutil.virtual_memory().available - os.path.getsize(path)
        _check_room(path, "what it holds", room)
    arrays = OrderedDict()
    with safe_open(path, framework="np") as file:
        for name in file.offset_keys():
            part = file.get_slice(name)
            _check_name(path, shapes, what, name, arrays)
            if shapes is not None:
                _check_form(path, name, part.get_shape(), shapes[name], part.get_dtype(), dtypes)
            elif part.get_dtype() == "BF16":
                arrays[name] = _bfloat16(path, name)
                continue
            elif part.get_dtype() not in TYPES.values():
                values = (path, name, part.get_dtype())
                raise InputError("%s: %s is %s, which NumPy does not have" % values)
            arrays[name] = file.get_tensor(name)
    return arrays


def _bfloat16(path, name):
    """An array of bfloat16, a type that NumPy does not have, as float32."""
    with open(path, "rb") as file:
        length = int(np.frombuffer(file.read(8), "<u8")[0])
        entry = json.loads(file.read(length).decode())[name]
        start, end = entry["data_offsets"]
        file.seek(8 + length + start)
        bits = np.frombuffer(file.read(end - start), "<u2")
    return (bits.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])
