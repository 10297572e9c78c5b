"""Pickles of arrays, read with an allow-list: nothing that a pickle names is imported.

A class that is not on the list becomes a ``Held``, an empty object that keeps its attributes. It
cannot be called, so a pickle that calls something is refused. Arrays and their types are built by
hand: NumPy's own ``__setstate__`` trusts a pickle with flags that say whether bytes are pointers.

The unpickler is that in Python: the one in C fills its memory if a pickle says so in eight bytes.
"""

import itertools
import pickle
from collections import OrderedDict

import numpy as np

from common.dump.contents import Contents, Refused, bfloat16, shaped

DEEPEST = 200  # nested containers
KEY = 3, 16  # a key of a dict may be nested so deeply, and be so long
PADDLES, BIG = "StructuredToParameterName@@", "UnpackBigParamInfor@@"  # keys of a .pdparams
CLASSES = 10000  # that a pickle may name; each takes a kilobyte
REMEMBERED = 2**22  # objects; the unpickler in C makes room for as many as a pickle says
POINTERS = 7  # flags of a type whose numbers are addresses of objects
AGAIN = 10**5  # containers that are in another one, too; each may be in two, and so on


def checked(key, depth=0):
    """The key of a dict; refused if it is nested deeply, because hashing it may take for ever."""
    if isinstance(key, (tuple, frozenset)):
        if depth > KEY[0] or len(key) > KEY[1]:
            raise Refused("it has a key that is no name")
        for part in key:
            checked(part, depth + 1)
    return key


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
        if not isinstance(name, str):
            raise Refused("it has a type without a name")
        self.dtype = np.dtype(name)
        if self.dtype.hasobject and name not in ("O", "O8"):
            raise Refused("it has the type %s" % self.dtype)

    def __setstate__(self, state):
        _, order, base, names, fields = state[:5]
        if not (base is names is fields is None):
            raise Refused("it has a type with fields")
        flags = state[7] if len(state) > 7 else 0
        if flags & POINTERS != (POINTERS if self.dtype.hasobject else 0):
            raise Refused("it has a type that takes numbers for addresses, or the reverse")
        self.dtype = self.dtype.newbyteorder(order)


class Numbers:
    """An array; an array of objects has ``items`` instead."""

    def __init__(self, kind=None, shape=None, code=None):
        self.array, self.items = None, ()

    def __setstate__(self, state):
        _, shape, kind, columns_first, data = state
        if kind.dtype.hasobject:
            if not isinstance(data, list):
                raise Refused("it has objects that are bytes")
            self.items = data
        else:
            self.array = _from_buffer(data, kind, shape, "F" if columns_first else "C").array

    @classmethod
    def of(cls, array):
        """An array that is known already."""
        made = cls()
        made.array = array
        return made


def _from_buffer(data, kind, shape, order, axes=None):
    data = data.encode("latin1") if isinstance(data, str) else bytes(memoryview(data))
    if order == "F":
        return Numbers.of(shaped("an array", data, kind.dtype, shape[::-1]).T)
    array = shaped("an array", data, kind.dtype, shape)
    return Numbers.of(array if axes is None else array.transpose(axes))


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


def _ordered(items=()):
    pairs = items.items() if isinstance(items, dict) else items
    return OrderedDict((checked(key), value) for key, value in pairs)


def _set(items=()):
    return frozenset(map(checked, items))


ARRAYS = {
    ("numpy", "dtype"): Type,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _ordered,
    ("collections", "Counter"): _ordered,
    ("collections", "defaultdict"): lambda *_: OrderedDict(),
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
    ARRAYS[_builtins, "set"] = _set
    ARRAYS[_builtins, "frozenset"] = _set
    ARRAYS[_builtins, "bytearray"] = _bytes


class Unpickler(pickle._Unpickler):
    """Reads a pickle; ``allowed``: {(module, name): its replacement} besides ``ARRAYS``."""

    allowed = {}
    stateful = Held, Type, Numbers, OrderedDict
    dispatch = dict(pickle._Unpickler.dispatch)

    def find_class(self, module, name):
        """The replacement on the list, or a class whose objects only hold their attributes."""
        known = self.allowed.get((module, name)) or ARRAYS.get((module, name))
        if known is None:
            held = self.__dict__.setdefault("held", {})
            if (module, name) not in held:
                if len(held) == CLASSES:
                    raise Refused("it names more than %d classes" % CLASSES)
                held[module, name] = Uncallable("%s.%s" % (module, name), (Held,), {})
            known = held[module, name]
        return known

    def build(self):
        """Give an object its state; only those that expect one, as others would be changed."""
        if not isinstance(self.stack[-2], self.stateful):
            raise Refused("it gives a state to an object that has none")
        self.load_build()

    def keyed(self, load, first, step):
        """Let ``load`` put items into a container, whose keys, each of ``step``, are checked."""
        for key in self.stack[first::step]:
            checked(key)
        load(self)

    def remember(self, number):
        """Keep the last object under a number."""
        if not 0 <= number <= REMEMBERED:
            raise Refused("it counts more than %d objects" % REMEMBERED)
        self.memo[number] = self.stack[-1]

    def bytearray(self):
        """Take bytes; Python's own makes room for as many as a pickle says."""
        size = int.from_bytes(self.read(8), "little")
        data = self.read(size)
        if len(data) != size:
            raise Refused("a length goes beyond the file")
        self.append(bytearray(data))


def _keyed(opcode, first, step):
    load = Unpickler.dispatch[opcode[0]]
    Unpickler.dispatch[opcode[0]] = lambda self: self.keyed(load, first, step)


Unpickler.dispatch[pickle.BUILD[0]] = Unpickler.build
Unpickler.dispatch[pickle.PUT[0]] = lambda self: self.remember(int(self.readline()))
Unpickler.dispatch[pickle.LONG_BINPUT[0]] = lambda self: self.remember(
    int.from_bytes(self.read(4), "little")
)
Unpickler.dispatch[150] = Unpickler.bytearray  # BYTEARRAY8, since Python 3.8
# Where these find keys on the stack: the last two items, or all since a mark.
_keyed(pickle.SETITEM, -2, 2)
_keyed(pickle.SETITEMS, 0, 2)
_keyed(pickle.DICT, 0, 2)
_keyed(pickle.ADDITEMS, 0, 1)
_keyed(pickle.FROZENSET, 0, 1)


def walk(value, contents, array=lambda value: value, join="/"):
    """Add every array in dicts, lists and held objects, named by its path.

    array: turns a value into an array, or returns it as it is. join: between the parts of a path.
    """
    inside_of, seen, kept, again = set(), set(), {}, itertools.count(1)

    def inside(value, path, depth):
        numbers = value if isinstance(value, Numbers) else None
        if numbers is not None:
            value = numbers.items if numbers.array is None else numbers.array
        # An array may have many names, as tied weights have two: it is copied once.
        value = kept[numbers] if numbers in kept else array(value)
        if isinstance(value, np.ndarray):
            contents.take(value.nbytes)
            added = contents.add(path or "array", value)
            if numbers is not None:
                kept[numbers] = added
            return
        if isinstance(value, Held):
            value = value.__dict__
        if not isinstance(value, (dict, list, tuple)) or id(value) in inside_of:
            return
        if depth > DEEPEST:
            raise Refused("it is nested more than %d times" % DEEPEST)
        if id(value) in seen and next(again) > AGAIN:
            raise Refused("it repeats more than %d containers" % AGAIN)
        inside_of.add(id(value))
        seen.add(id(value))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            # Attributes in which a module keeps its tensors are no part of their names.
            hidden = key in ("_parameters", "_buffers", "_modules")
            parts = [path] * bool(path) + [str(key)] * (not hidden)
            inside(item, join.join(parts), depth + 1)
        inside_of.remove(id(value))

    inside(value, "", 0)


def read(file):
    """``Contents`` of all pickles in a file; Python 2's strings are read as it wrote them.

    Several, as after a ``pickle.dump`` for each array, are numbered.
    """
    contents, values = Contents(), []
    while not values or file.read(1):
        file.seek(-1 if values else 0, 1)
        values.append(Unpickler(file, encoding="latin1").load())
    value = values if len(values) > 1 else values[0]
    if isinstance(value, dict) and PADDLES in value:
        if BIG in value:
            raise Refused("its large arrays are in parts, which are not joined here")
        walk(value, contents, _of_paddle)
    else:
        walk(value, contents)
    return contents


def _of_paddle(value):
    """Paddle's bfloat16, which has no other type in NumPy than its bits', as float32."""
    if isinstance(value, np.ndarray) and value.dtype == np.uint16:
        return bfloat16(value)
    return value
