"""Pickles of arrays, read with an allow-list: nothing that a pickle names is imported.

A class that is not on the list becomes a ``Held``, an empty object that keeps its attributes. It
cannot be called, so a pickle that calls something is refused. Arrays and their types are built by
hand: NumPy's own ``__setstate__`` trusts a pickle with flags that say whether bytes are pointers.
"""

import pickle
from collections import OrderedDict

import numpy as np

from common.dump.contents import Contents, Refused, shaped

DEEPEST = 200  # nested containers


class Uncallable(type):
    """The type of ``Held``'s subclasses."""

    def __call__(cls, *arguments, **keywords):
        raise Refused("it calls %s" % cls.__name__)


class Held(metaclass=Uncallable):
    """An object of a class that is not imported: its attributes are in ``__dict__``."""

    def __new__(cls, *arguments, **keywords):
        return object.__new__(cls)

    def __setstate__(self, state):
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.__dict__.update((str(key), value) for key, value in part.items())
            elif part is not None:
                self.__dict__["state"] = part

    def append(self, item):
        """Keep an item of a list's subclass."""
        self.__dict__.setdefault("items", []).append(item)

    def __setitem__(self, key, value):
        self.__dict__[str(key)] = value


class Type:
    """The type of an array; of its state, only the order of bytes counts."""

    def __init__(self, name, *flags):
        self.dtype = np.dtype(name)
        if self.dtype.hasobject and name not in ("O", "O8"):
            raise Refused("it has the type %s" % self.dtype)

    def __setstate__(self, state):
        _, order, base, names, fields = state[:5]
        if not (base is names is fields is None):
            raise Refused("it has a type with fields")
        self.dtype = self.dtype.newbyteorder(order)


class Numbers:
    """An array; ``array`` is None until its state comes, and for an array of objects."""

    def __init__(self, kind, shape, code):
        self.array = None

    def __setstate__(self, state):
        _, shape, kind, columns_first, data = state
        if not kind.dtype.hasobject:
            self.array = _from_buffer(data, kind, shape, "F" if columns_first else "C").array

    @classmethod
    def of(cls, array):
        """An array that is known already."""
        made = cls(None, None, None)
        made.array = array
        return made


def _from_buffer(data, kind, shape, order):
    data = data.encode("latin1") if isinstance(data, str) else bytes(memoryview(data))
    if order == "F":
        return Numbers.of(shaped("an array", data, kind.dtype, shape[::-1]).T)
    return Numbers.of(shaped("an array", data, kind.dtype, shape))


def _scalar(kind, data):
    if not isinstance(data, (bytes, str)) or kind.dtype.hasobject:
        raise Refused("it has a value that is not a number")
    return _from_buffer(data, kind, (), "C")


def _encode(text, code="latin1"):
    if code not in ("latin1", "latin-1"):
        raise Refused("it encodes as %s" % str(code)[:20])
    return text.encode("latin1")


def _bytes(data=b"", code="latin1"):
    return _encode(data, code) if isinstance(data, str) else bytes(memoryview(data))


def _reconstructor(kind, base, state):
    if not (isinstance(kind, type) and issubclass(kind, Held)):
        raise Refused("it makes an object that nothing contains")
    return Held.__new__(kind)


def _ordered(*items):
    return OrderedDict(*items)


ARRAYS = {
    ("numpy", "dtype"): Type,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _ordered,
    ("copyreg", "_reconstructor"): _reconstructor,
    ("copy_reg", "_reconstructor"): _reconstructor,
}
for _core in ("numpy.core", "numpy._core"):
    ARRAYS[_core + ".multiarray", "_reconstruct"] = Numbers
    ARRAYS[_core + ".multiarray", "scalar"] = _scalar
    ARRAYS[_core + ".numeric", "_frombuffer"] = _from_buffer
for _builtins in ("builtins", "__builtin__"):
    ARRAYS[_builtins, "object"] = object
    ARRAYS[_builtins, "tuple"] = tuple
    ARRAYS[_builtins, "set"] = frozenset
    ARRAYS[_builtins, "bytearray"] = _bytes


class Unpickler(pickle.Unpickler):
    """Reads a pickle; ``allowed``: {(module, name): its replacement} besides ``ARRAYS``."""

    allowed = {}

    def find_class(self, module, name):
        """The replacement on the list, or a class whose objects only hold their attributes."""
        known = self.allowed.get((module, name)) or ARRAYS.get((module, name))
        return known or Uncallable("%s.%s" % (module, name), (Held,), {})


def walk(value, contents, array=lambda value: value):
    """Add every array in dicts, lists and held objects, named by its path.

    array: turns a value into an array, or returns it as it is.
    """
    seen = set()

    def inside(value, path, depth):
        value = value.array if isinstance(value, Numbers) else array(value)
        if isinstance(value, np.ndarray):
            contents.add(path or "array", value)
            return
        if isinstance(value, Held):
            value = value.__dict__
        if not isinstance(value, (dict, list, tuple)) or id(value) in seen:
            return
        if depth > DEEPEST:
            raise Refused("it is nested more than %d times" % DEEPEST)
        seen.add(id(value))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            # Attributes in which a module keeps its tensors are no part of their names.
            hidden = key in ("_parameters", "_buffers", "_modules")
            inside(item, path if hidden else "%s/%s" % (path, key) if path else str(key), depth + 1)

    inside(value, "", 0)


def read(file):
    """``Contents`` of a pickle; Python 2's strings are read as it wrote them."""
    contents = Contents()
    walk(Unpickler(file, encoding="latin1").load(), contents)
    return contents
