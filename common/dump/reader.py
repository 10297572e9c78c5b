"""Numbers and bytes of a file, taken in turn."""

import struct

from common.dump.contents import Refused


class Reader:
    """Takes numbers and bytes from the file in turn; a length beyond the file is refused.

    order: of a number's bytes, ``<`` or ``>``.
    """

    def __init__(self, data, order="<"):
        self.data, self.order, self.at = memoryview(data), order, 0

    def bytes(self, size):
        """The next bytes."""
        if size < 0 or self.at + size > len(self.data):
            raise Refused("a length goes beyond the file")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form):
        """The next number."""
        (value,) = self.numbers(form, 1)
        return value

    def numbers(self, form, count):
        """The next numbers of a kind."""
        size = struct.calcsize(self.order + form)
        return struct.unpack("%s%d%s" % (self.order, count, form), self.bytes(count * size))
