"""LevelDB's sorted tables, in which TensorFlow's checkpoints keep their names.

The format: https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

from collections import OrderedDict

from common.dump.contents import Refused
from common.dump.protobuf import varint

MAGIC = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
FOOTER, TRAILER = 48, 5
LONGEST = 4096  # bytes of a name: each may repeat the one before it, so they would be quadratic


def is_one(data):
    """Whether the file ends as a table does."""
    return len(data) >= FOOTER and data[-8:] == MAGIC


def _handle(data, at):
    """(start, size, where it ends) of a block's place, written at ``at``."""
    start, at = varint(data, at)
    size, at = varint(data, at)
    return start, size, at


def _block(data, start, size):
    """[(key, value)] of a block."""
    if size < 4 or start + size + TRAILER > len(data):
        raise Refused("a block goes beyond the file")
    if data[start + size] != 0:
        raise Refused("its blocks are compressed, which is not read here")
    block, at, entries, key = data[start : start + size], 0, [], b""
    end = len(block) - 4 * (int.from_bytes(block[-4:], "little") + 1)
    if end < 0:
        raise Refused("a block counts more entries than it has bytes")
    while at < end:
        shared, at = varint(block, at)
        fresh, at = varint(block, at)
        length, at = varint(block, at)
        if at + fresh + length > end:
            raise Refused("an entry goes beyond its block")
        if shared > len(key) or shared + fresh > LONGEST:
            raise Refused("a name has more than %d bytes, or begins as none before it" % LONGEST)
        key = key[:shared] + bytes(block[at : at + fresh])
        entries.append((key, block[at + fresh : at + fresh + length]))
        at += fresh + length
    return entries


def read(data):
    """{key: value} of a table."""
    data, entries = memoryview(data), OrderedDict()
    _, _, at = _handle(data, len(data) - FOOTER)  # of a block that has no values
    start, size, _ = _handle(data, at)
    end = 0
    for _, place in _block(data, start, size):
        start, size, _ = _handle(place, 0)
        if start < end:
            raise Refused("a block is there twice")
        end = start + size
        entries.update(_block(data, start, size))
    return entries
