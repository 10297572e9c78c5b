"""PyTorch's ``.pt`` and ``.pth``: an archive with a pickle and storages, or the older stream.

Tensors are built from their storages by hand. The classes of a network that was pickled as a whole
are not imported; its tensors are found in the objects' attributes.
"""

import pickle
import struct

import numpy as np

from common.dump import pickles
from common.dump.contents import Contents, Refused, bfloat16

MAGIC = 0x1950A86A20F9469CFC6C
TYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
    "ComplexFloatStorage": "<c8",
    "ComplexDoubleStorage": "<c16",
}


class Kind:
    """A storage's type."""

    def __init__(self, name):
        self.name, self.dtype = name, np.dtype(TYPES[name])


class Storage:
    """Numbers that tensors share; ``data`` may come later in the file."""

    def __init__(self, kind, size):
        self.kind, self.size, self.data = kind, size, None

    def put(self, data):
        """The bytes."""
        if len(data) != self.size * self.kind.dtype.itemsize:
            raise Refused("a storage has %d bytes, not %d numbers" % (len(data), self.size))
        self.data = np.frombuffer(data, self.kind.dtype)


class Tensor:
    """A view of a storage."""

    def __init__(self, storage, offset, shape, strides, marks):
        if not isinstance(storage, Storage):
            raise Refused("it has a tensor without a storage")
        self.storage, self.offset = storage, int(offset)
        self.shape, self.strides = tuple(map(int, shape)), tuple(map(int, strides))
        self.marks = {mark for mark in ("conj", "neg") if marks.get(mark)}

    def __setstate__(self, state):
        """Ignore an old parameter's: whether it has a gradient."""

    def array(self):
        """The numbers; refused if the view goes beyond its storage."""
        if min(self.shape + self.strides + (self.offset,)) < 0:
            raise Refused("a tensor has a size below 0")
        if len(self.shape) != len(self.strides):
            raise Refused("a tensor's shape does not match its strides")
        last = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        empty, data = 0 in self.shape, self.storage.data
        if data is None or (not empty and last >= len(data)):
            raise Refused("a tensor goes beyond its storage")
        Contents().take(int(np.prod(self.shape, dtype=float)) * data.itemsize)
        strides = [stride * data.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(data[self.offset :], self.shape, strides)
        array = np.zeros(self.shape, data.dtype) if empty else np.array(view)
        array = array.conj() if "conj" in self.marks else array  # PyTorch writes them as they are
        array = -array if "neg" in self.marks else array
        return bfloat16(array) if self.storage.kind.name == "BFloat16Storage" else array


def _tensor(storage, offset, shape, strides, gradient=False, hooks=None, marks=None):
    return Tensor(storage, offset, shape, strides, marks or {})


def _parameter(tensor, *_):
    return tensor


ALLOWED = {
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _parameter,
    ("torch.nn.parameter", "Parameter"): _parameter,  # up to PyTorch 0.3
    ("torch.autograd.variable", "Variable"): _parameter,
    ("torch.nn.backends.thnn", "_get_thnn_function_backend"): lambda: None,  # up to 1.2
    ("torch", "Size"): tuple,
    ("torch", "device"): lambda *words: words,
}
ALLOWED.update({("torch", name): Kind(name) for name in TYPES})


class Unpickler(pickles.Unpickler):
    """Builds tensors from storages that ``found(key, kind, size)`` gives."""

    allowed = ALLOWED
    stateful = pickles.Unpickler.stateful + (Tensor,)

    def __init__(self, file, found):
        super().__init__(file, encoding="latin1")
        self.found = found

    def persistent_load(self, words):
        """A storage, or, in old files, a module with its source, which is ignored."""
        if words[0] == "module":
            return words[1]
        if words[0] != "storage" or not isinstance(words[1], Kind):
            raise Refused("it has a storage of an unknown type")
        if not isinstance(words[2], (str, int)) or any(words[5:]):
            raise Refused("it has a storage that is a part of another")
        storage = self.found(str(words[2]), words[1], int(words[4]))
        if (storage.kind, storage.size) != (words[1], words[4]):
            raise Refused("it has a storage of two types or sizes")
        return storage


def _contents(value):
    contents = Contents()
    pickles.walk(value, contents, lambda v: v.array() if isinstance(v, Tensor) else v, ".")
    return contents


def archive(zipped):
    """``Contents`` of an open archive."""
    contents = Contents()  # takes the room for the storages
    (name,) = [name for name in zipped.namelist() if name.endswith("/data.pkl")][:1] or [""]
    folder, storages = name[: -len("data.pkl")], {}
    sizes = {entry.filename: entry.file_size for entry in zipped.infolist()}
    order = folder + "byteorder"
    if order in sizes and (sizes[order] != 6 or zipped.read(order) != b"little"):
        raise Refused("its numbers are not little-endian")

    def found(key, kind, size):
        if key not in storages:
            member = "%sdata/%s" % (folder, key)
            if sizes.get(member) != size * kind.dtype.itemsize:
                raise Refused("a storage is missing, or has another size")
            contents.take(sizes[member])
            storages[key] = Storage(kind, size)
            storages[key].put(zipped.read(member))
        return storages[key]

    contents.take(sizes[name])
    with zipped.open(name) as file:
        return _contents(Unpickler(file, found).load())


def is_stream(data):
    """Whether a file begins as the older stream does."""
    return data.startswith(pickle.dumps(MAGIC, protocol=2)[:-1])


def stream(file):
    """``Contents`` of the older stream: three pickles, one with the tensors, the storages."""
    storages = {}

    def found(key, kind, size):
        return storages.setdefault(key, Storage(kind, size))

    for _ in range(3):  # a magic number, a version, the system
        pickles.Unpickler(file).load()
    value = Unpickler(file, found).load()
    for key in pickles.Unpickler(file).load():
        (size,) = struct.unpack("<q", file.read(8))
        storage = storages.get(str(key))
        if storage is None or size != storage.size:
            raise Refused("a storage has another size")
        data = file.read(size * storage.kind.dtype.itemsize)
        storage.put(data)
    return _contents(value)


def is_archive(names):
    """Whether an archive's names are those of a saved network."""
    return any(name.endswith("/data.pkl") for name in names)
