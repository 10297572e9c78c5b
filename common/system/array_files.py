"""Named arrays in a file, .npz or .safetensors. Reading never runs code from the file."""

import os
import zipfile
from collections import OrderedDict

import numpy as np

from common.system import safetensors, zips
from common.system.errors import InputError
from common.system.files import atomic_write
from common.system.memory import available

ENDINGS = (".npz", ".safetensors")
LONGEST = 4096  # bytes of a name that is written
HEADER = 4096  # bytes allowed for an array's header in an .npz
# {version of .npy: what reads such a header from an open file}.
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
NUMBERS = "biuf"  # NumPy's kinds: bool, integers, floats


def ending(path):
    """The file's ending, one of ``ENDINGS``; InputError for any other."""
    kind = os.path.splitext(path)[1]
    if kind not in ENDINGS:
        raise InputError("%s: the name must end in %s" % (path, " or ".join(ENDINGS)))
    return kind


def write(path, arrays, metadata=None):
    """Write {name: array} atomically. metadata: {word: word} for a .safetensors."""
    kind = ending(path)
    for name, values in arrays.items():
        _check_writable_as(kind, path, name, np.asarray(values).dtype)
    with atomic_write(path) as file:
        if kind == ".npz":
            _write_npz(file, arrays)
        else:
            safetensors.write(file, arrays, metadata)


def _check_writable_as(kind, path, name, dtype):
    try:
        right = len(name.encode("utf-8")) <= LONGEST and "\0" not in name
    except UnicodeEncodeError:
        right = False
    if not right or (kind == ".safetensors" and name == "__metadata__"):
        raise InputError("%s: %.60r cannot be the name of an array there" % (path, name))
    if kind == ".safetensors" and dtype.name not in safetensors.TYPES:
        raise InputError("%s: %s is %s, which this format does not have" % (path, name, dtype))


def _write_npz(file, arrays):
    # Not by np.savez, whose own arguments, such as "file", cannot be names of arrays.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(values), allow_pickle=False)


def read(path, shapes=None, what="array", dtypes=("float32",), kinds=NUMBERS):
    """{name: array} of a file, in the order of the file; InputError names the file and the fault.

    shapes: {name: shape} of all allowed arrays, whose types must be among ``dtypes``; None accepts
        any numbers that fit into memory.
    what: the word for an array in messages.
    kinds: NumPy's kinds that are accepted in an .npz without ``shapes``.
    """
    try:
        if ending(path) == ".npz":
            arrays = _npz(path, shapes, what, dtypes, kinds)
        else:
            arrays = _safetensors(path, shapes, what, dtypes)
    except InputError:
        raise
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror or error))
    except Exception as error:  # a broken file can raise almost anything
        fault = " ".join(str(error).split())[:100]
        raise InputError("%s is not a valid %s file: %s" % (path, ending(path), fault))
    for name in arrays if shapes is not None else ():  # (1,) is accepted for ()
        arrays[name] = arrays[name].reshape(shapes[name])
    return arrays


def _check_name(path, shapes, what, name, arrays):
    if shapes is not None and name not in shapes:
        raise InputError("%s: %r is no %s" % (path, name, what))
    if name in arrays:
        raise InputError("%s: %s appears twice" % (path, name))


def _check_room(path, name, room):
    if room < 0:
        raise InputError("%s: %s does not fit into the free memory" % (path, name))


def _check_form(path, name, shape, expected, dtype, dtypes):
    one = not expected and tuple(shape) == (1,)  # many writers of .npy know no array without axes
    if tuple(shape) != tuple(expected) and not one:
        values = (path, name, tuple(shape), tuple(expected))
        raise InputError("%s: %s has shape %s, not %s" % values)
    if dtype not in dtypes:
        raise InputError("%s: %s is %s, not %s" % (path, name, dtype, dtypes[0]))


def _npz(path, shapes, what, dtypes, kinds):
    arrays, room = OrderedDict(), available()
    with zips.opened(path) as archive:
        for entry in archive.infolist():
            name = entry.filename[: -len(".npy")]
            if not entry.filename.endswith(".npy"):
                raise InputError("%s: %r is not an array" % (path, entry.filename))
            _check_name(path, shapes, what, name, arrays)
            room -= entry.file_size
            _check_room(path, name, room)
            if shapes and entry.file_size > 8 * np.prod(shapes[name], dtype=float) + HEADER:
                raise InputError("%s: %s is longer than its shape" % (path, name))
            with archive.open(entry) as file:
                shape, _, dtype = HEADERS[np.lib.format.read_magic(file)](file)
            if shapes is not None:
                _check_form(path, name, shape, shapes[name], str(dtype), dtypes)
            elif dtype.kind not in kinds:
                raise InputError("%s: %s is %s, not numbers" % (path, name, dtype))
            elif dtype.itemsize * np.prod(shape, dtype=float) > entry.file_size:
                raise InputError("%s: %s is shorter than its shape" % (path, name))
            with archive.open(entry) as file:
                values = np.lib.format.read_array(file, allow_pickle=False)
            arrays[name] = np.asarray(values, order="C")
    return arrays


def _safetensors(path, shapes, what, dtypes):
    dtypes, size = [safetensors.TYPES[name] for name in dtypes], os.path.getsize(path)
    arrays = OrderedDict()
    with open(path, "rb") as file:
        if shapes is None:
            _check_room(path, "what it holds", available() - size)
        for name, entry in safetensors.entries(file, size).items():
            _check_name(path, shapes, what, name, arrays)
            if shapes is not None:
                _check_form(path, name, entry.shape, shapes[name], entry.dtype, dtypes)
            elif entry.dtype not in safetensors.READABLE:
                values = (path, name, entry.dtype)
                raise InputError("%s: %s is %s, which NumPy does not have" % values)
            arrays[name] = safetensors.array(file, entry)
    return arrays
