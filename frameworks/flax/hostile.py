"""Malicious files in Flax's own format; see ``tests/native/hostile.py``."""

import msgpack


def _with_array(path, shape, dtype, content):
    """A file whose only weight is an array that says this of itself."""
    array = msgpack.ExtType(1, msgpack.packb((shape, dtype, content)))
    with open(path, "wb") as file:
        file.write(msgpack.packb({"conv1": {"kernel": array}}))


def objects(path, marker):
    """An array of objects, whose bytes would be taken for pointers."""
    _with_array(path, (1,), "object", bytes(8))
    return "not weights of this network"


def claimed(path, marker):
    """An array that claims more values than it has bytes."""
    _with_array(path, (2**28,), "float32", bytes(4))
    return "not weights of this network"


def nested(path, marker):
    """Maps in maps, deeper than the stack."""
    with open(path, "wb") as file:
        file.write(b"\x81\xa1a" * 2**20 + b"\xc0")
    return "not weights of this network"


ATTACKS = {".msgpack": (objects, claimed, nested)}
