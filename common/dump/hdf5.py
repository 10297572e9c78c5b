"""HDF5: every data set, and a Keras model's layers; also the HDF5 inside a ``.keras``."""

import io
import json

from common.dump.contents import Contents, Refused, bfloat16

MAGIC = b"\x89HDF\r\n\x1a\n"
MOST = 1100  # times that deflate can shrink zeros
SMALL = 64  # bytes that a data set without any may have


def read(content):
    """``Contents`` of a file's bytes. Links and data outside the file are refused."""
    try:
        import h5py
    except ImportError:
        raise Refused(
            "HDF5 needs h5py, which this Python does not have: pip install h5py, or run it with "
            "uvx --with h5py --from . rosetta dump, or tox exec -e keras -- python -m common.dump"
        )
    from common.system.hdf5 import datasets

    contents = Contents()
    with h5py.File(io.BytesIO(content), "r") as file:
        for item in datasets(file):
            if item.dtype.kind in "OS":
                continue  # texts
            size = item.size * item.dtype.itemsize
            if size > max(item.id.get_storage_size(), SMALL) * MOST:
                raise Refused("%s claims %d bytes, which it does not have" % (item.name, size))
            contents.take(size)
            contents.add(item.name.strip("/"), _numbers(item))
        config = file.attrs.get("model_config")
    if isinstance(config, (str, bytes)):
        contents.layers = layers(config)
    return contents


def _numbers(item):
    """A data set's numbers; Keras writes bfloat16 as two bytes of no type."""
    if item.dtype.kind != "V":
        return item[()]
    if item.dtype.itemsize != 2 or item.attrs.get("dtype") != "bfloat16":
        raise Refused("%s is %s, not numbers" % (item.name, item.dtype))
    return bfloat16(item[()].view("<u2"))


def layers(config):
    """The layers of a Keras model's configuration, JSON."""
    try:
        config = json.loads(config)
        config = config.get("config", config)
        listed = config if isinstance(config, list) else config["layers"]
        return [
            (str(layer["class_name"]), str(layer["config"].get("name", "")), [], [])
            for layer in listed
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def keras(zipped):
    """``Contents`` of an open ``.keras``; its code, if it has any, is not read."""
    room = Contents()
    for name in ("model.weights.h5", "config.json"):
        room.take(zipped.getinfo(name).file_size)
    contents = read(zipped.read("model.weights.h5"))
    contents.layers = layers(zipped.read("config.json"))
    return contents
