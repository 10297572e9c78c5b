"""Malicious files, in containers that many frameworks use.

Each function overwrites or changes ``path`` so that reading it would make the file ``marker``, fill
the memory or read another file. It returns a pattern of the message with which the file must be
refused. A framework's own attacks are in ``frameworks/NAME/hostile.py``: ``ATTACKS``, {ending:
functions like these}.
"""

import json
import os
import pickle
import zipfile

import numpy as np

from frameworks.hostile import Marks

HUGE = 2**28  # bytes, where the CNN's weights are 14 million


def zip_bomb(path, marker):
    """A small file that is huge when it is unpacked."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.pkl", bytes(HUGE))
    return "it contains 268435456 bytes"


def bare_pickle(path, marker):
    """A pickle that runs code."""
    with open(path, "wb") as file:
        pickle.dump([Marks(marker)], file, protocol=2)
    return "not weights of this network"


class Forges:
    """An array of pointers, made from bytes: its type says that it holds no objects."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def _forge(path, name, state):
    kind = Forges(np.dtype, (name, False, True), state)
    start = np.zeros(1).__reduce__()[:2]
    with open(path, "wb") as file:
        pickle.dump([Forges(*start, (1, (1,), kind, False, b"A" * 8))], file, protocol=2)
    return "not weights of this network"


def forged_pickle(path, marker):
    """A pickle of arrays alone, whose numbers NumPy would take for addresses of objects."""
    base = np.dtype("O"), (1,)
    return _forge(path, "V8", (3, "|", base, None, None, 8, 1, 0))


def pickle_of_pointers(path, marker):
    """The same by a type of objects, whose flags say that it holds none."""
    return _forge(path, "O8", (3, "|", None, None, None, -1, -1, 0))


def _end_as(path, attack, end):
    words = attack(path, None)
    with open(path, "ab") as file:
        file.write(end)
    return words


def pickle_that_ends_as_zip(path, marker):
    """A forged pickle, and the end of an empty archive."""
    return _end_as(path, forged_pickle, b"PK\5\6" + bytes(18))


def pickle_that_ends_as_table(path, marker):
    """A forged pickle, and the end of a table of LevelDB's."""
    return _end_as(path, forged_pickle, bytes(40) + b"\x57\xfb\x80\x8b\x24\x75\x47\xdb")


def pickle_with_a_far_number(path, marker):
    """A pickle that keeps one object under a number, up to which C's unpickler makes room."""
    with open(path, "wb") as file:
        file.write(b"\x80\x02Nr\0\0\0\x40.")
    return "not weights of this network"


PICKLES = bare_pickle, forged_pickle, pickle_of_pointers, pickle_that_ends_as_zip
PICKLES += pickle_that_ends_as_table, pickle_with_a_far_number


def pickle_in_npz(path, marker):
    """An array of objects."""
    with open(path, "wb") as file:
        np.savez(file, **{"conv1/W": np.array([Marks(marker)])})
    return "not weights of this network"


def elsewhere(path, marker):
    """An HDF5 file that links to another."""
    _hdf5(path, lambda h5py, file: file.__setitem__("_x", h5py.ExternalLink(marker, "/")))
    return "is a link"


def elsewhere_that_ends_as_zip(path, marker):
    """The same, and the end of an empty archive."""
    return _end_as(path, lambda path, _: elsewhere(path, path + "-other"), b"PK\5\6" + bytes(18))


def outside(path, marker):
    """An HDF5 file whose values are the bytes of any other file."""

    def spoil(h5py, file):
        file.create_dataset("_x", (8,), "u1", external=[(os.path.abspath(__file__), 0, 8)])

    _hdf5(path, spoil)
    return "is in another file"


def claimed(path, marker):
    """An HDF5 file that claims more values than it has bytes."""
    _hdf5(
        path,
        lambda h5py, file: file.create_dataset("_x", (HUGE,), "u1", chunks=True),
    )
    return "it contains [0-9]+ bytes"


def _hdf5(path, spoil):
    """Change an HDF5 file, or the one in an archive."""
    import h5py

    if not zipfile.is_zipfile(path):
        with h5py.File(path, "a") as file:
            spoil(h5py, file)
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    inner = path + ".inner.h5"
    with open(inner, "wb") as file:
        file.write(members["model.weights.h5"])
    _hdf5(inner, spoil)
    with open(inner, "rb") as file:
        members["model.weights.h5"] = file.read()
    os.remove(inner)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _change_header(path, change):
    """Change the header of a ``.safetensors`` file, and leave the values as they are."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, values = json.loads(file.read(size)), file.read()
    change(header)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + values)


def values_after_the_end(path, marker):
    """A tensor whose values would follow the end of the file."""
    size = os.path.getsize(path)

    def move(header):
        first, last = header["dense1.weight"]["data_offsets"]
        header["dense1.weight"]["data_offsets"] = [first + size, last + size]

    _change_header(path, move)
    return "not weights of this network"


def header_without_end(path, marker):
    """A header that claims to be longer than the file."""
    with open(path, "r+b") as file:
        file.write((2**40).to_bytes(8, "little"))
    return "not weights of this network"


def of_container(path):
    """The attacks that fit a saved file's container, whatever framework wrote it."""
    if not os.path.isfile(path):
        return ()  # a folder, or a checkpoint of several files
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if any(name.endswith(".npy") for name in names):
            return zip_bomb, pickle_in_npz
        hdf5 = "model.weights.h5" in names
        return (zip_bomb, elsewhere, outside, claimed) if hdf5 else (zip_bomb, bare_pickle)
    if path.endswith(".safetensors"):
        return bare_pickle, values_after_the_end, header_without_end
    with open(path, "rb") as file:
        start = file.read(4)
    if start == b"\x89HDF":
        return elsewhere, elsewhere_that_ends_as_zip, outside, claimed
    return PICKLES
