"""The arrays that a reader returns, and a limit of the memory that they may take."""

from collections import OrderedDict

import numpy as np

from common.system.errors import InputError
from common.system.memory import available
from common.system.safetensors import AXES

# NumPy's kinds that count as numbers: bool, integers, floats, complex.
NUMBERS = "biufc"


class Refused(InputError):
    """A file that is damaged or would do harm; the message does not name it."""


class Contents:
    """The arrays of a file, and its network's layers where the file has them.

    layers: [(kind, name, [inputs], [outputs])], in the file's order.
    """

    def __init__(self, layers=()):
        self.arrays, self.layers = OrderedDict(), list(layers)
        self.room = available()

    def take(self, size):
        """Refuse ``size`` more bytes unless they fit into the memory that is free."""
        self.room -= size
        if self.room < 0:
            raise Refused("it contains more than the free memory: %d bytes" % size)

    def add(self, name, array):
        """Add an array, and return what is kept; refuse a second one of its name."""
        name = str(name) or "array"
        if name in self.arrays:
            raise Refused("%s appears twice" % name)
        if array.dtype.kind not in NUMBERS:
            raise Refused("%s is %s, not numbers" % (name, array.dtype))
        own = array.flags.owndata and array.flags.c_contiguous  # no view of the file
        self.arrays[name] = array if own else np.array(array, order="C")
        return self.arrays[name]


def bytes_of(name, dtype, shape):
    """How many bytes an array of this shape has."""
    if len(shape) > AXES:
        raise Refused("%s has %d axes" % (name, len(shape)))
    size = np.dtype(dtype).itemsize
    for n in shape:
        size *= n
    return size


def shaped(name, data, dtype, shape):
    """The bytes ``data`` as an array; refuse a shape that needs more or fewer bytes."""
    shape = tuple(int(n) for n in shape)
    size = bytes_of(name, dtype, shape)
    if min(shape, default=0) < 0 or size != len(data):
        raise Refused("%s has %d bytes, which is not shape %s" % (name, len(data), shape))
    return np.frombuffer(data, dtype).reshape(shape)


def bfloat16(bits):
    """Float32 from bfloat16's bits, because NumPy has no such type."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
