"""Protocol buffers on the wire, without a schema: fields by their numbers.

The format: https://protobuf.dev/programming-guides/encoding
"""

import numpy as np

from common.dump.contents import Refused

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
DEEP = 10  # bytes of the longest varint


def varint(data, at):
    """(number, where it ends)."""
    value = 0
    for place in range(DEEP):
        if at >= len(data):
            raise Refused("it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value & (2**64 - 1), at
    raise Refused("a number is longer than 64 bits")


def _same(data, at, key, step):
    """How many of the next fields of ``step`` bytes, one of them the key, have this key.

    A repeated number that is not packed would else take a hundred times its memory.
    """
    count, size = 0, 1
    while True:
        last = min(size, (len(data) - at) // step - count)
        start = at + count * step
        keys = np.frombuffer(data[start : start + max(last, 0) * step], "u1")[::step]
        other = np.flatnonzero(keys != key)
        if len(other) or last < size:
            return count + (int(other[0]) if len(other) else len(keys))
        count, size = count + size, 2 * size


class Message:
    """A message: ``all(number)`` has a field's values, ``one(number)`` the last, or a default."""

    def __init__(self, data):
        data, at, self.fields = memoryview(data), 0, {}
        while at < len(data):
            key, at = varint(data, at)
            wire, size = key & 7, 0
            if wire == VARINT:
                value, at = varint(data, at)
            elif wire in (FIXED64, FIXED32, BYTES):
                size = {FIXED64: 8, FIXED32: 4}.get(wire)
                if size is None:
                    size, at = varint(data, at)
                value = data[at : at + size]
                at += size
                if at > len(data):
                    raise Refused("a length goes beyond the file")
                if wire != BYTES and key < 128:
                    more = _same(data, at, key, size + 1)
                    rows = np.frombuffer(data[at : at + more * (size + 1)], "u1")
                    at += len(rows)
                    value = memoryview(bytes(value) + rows.reshape(more, size + 1)[:, 1:].tobytes())
            else:
                raise Refused("it is not of this format")
            self.fields.setdefault(key >> 3, []).append((wire, value))

    def all(self, number):
        """A field's values: numbers, or bytes."""
        return [value for _, value in self.fields.get(number, ())]

    def one(self, number, default=0):
        """A field's last value."""
        return self.all(number)[-1] if number in self.fields else default

    def is_bytes(self, number):
        """Whether the field is there, and all its values are bytes."""
        wires = [wire for wire, _ in self.fields.get(number, ())]
        return bool(wires) and set(wires) == {BYTES}

    def text(self, number):
        """A field's text, or ""."""
        value = self.one(number, b"")
        return bytes(value).decode("utf-8", "replace") if not isinstance(value, int) else ""

    def texts(self, number):
        """A repeated field's texts."""
        values = self.all(number)
        return [bytes(v).decode("utf-8", "replace") for v in values if not isinstance(v, int)]

    def inner(self, number):
        """The messages in a field."""
        values = self.all(number)
        if any(isinstance(value, int) for value in values):
            raise Refused("it is not of this format")
        return [Message(value) for value in values]

    def inner_if_any(self, number):
        """The messages in a field; [] if it has none, or texts or numbers."""
        try:
            return self.inner(number)
        except Refused:
            return []

    def message(self, number):
        """The message in a field; an empty one if it is missing."""
        return (self.inner(number) or [Message(b"")])[-1]

    def floats(self, number, dtype="<f4"):
        """A repeated field of fixed size, packed or not."""
        parts = [v for v in self.all(number) if not isinstance(v, int)]
        data = b"".join(bytes(part) for part in parts)
        if len(data) % np.dtype(dtype).itemsize:
            raise Refused("its numbers end too early")
        return np.frombuffer(data, dtype)

    def integers(self, number):
        """A repeated field of varints, packed or not, as signed numbers."""
        values = []
        for wire, value in self.fields.get(number, ()):
            if wire == VARINT:
                values.append(value)
            at = 0
            while wire == BYTES and at < len(value):
                other, at = varint(value, at)
                values.append(other)
        return [value - 2**64 if value >= 2**63 else value for value in values]
