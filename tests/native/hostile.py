"""Files as somebody makes them who means harm. Each returns what it is refused with."""

import os
import pickle
import zipfile

import numpy as np

HUGE = 2**28  # bytes, where the CNN's weights are 14 million


class Marks:
    """When unpickled, it makes a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (self.marker, "w")


def zip_bomb(path, marker):
    """A small file that is huge when it is unpacked."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.pkl", bytes(HUGE))
    return "it holds 268435456 bytes"


def bare_pickle(path, marker):
    """A pickle that runs something."""
    with open(path, "wb") as file:
        pickle.dump([Marks(marker)], file, protocol=2)
    return "not weights of this network"


def pickle_in_state(path, marker):
    """A state_dict among whose tensors something is run."""
    import torch

    torch.save({"conv1.weight": Marks(marker)}, path)
    return "not weights of this network"


def pickle_in_npz(path, marker):
    """An array of objects."""
    with open(path, "wb") as file:
        np.savez(file, **{"conv1/W": np.array([Marks(marker)])})
    return "not weights of this network"


def elsewhere(path, marker):
    """An HDF5 file that links to another."""
    _hdf5(path, lambda h5py, file: file.__setitem__("_x", h5py.ExternalLink(marker, "/")))
    return "is a link"


def outside(path, marker):
    """An HDF5 file whose values are the bytes of any other file."""

    def spoil(h5py, file):
        file.create_dataset("_x", (8,), "u1", external=[(os.path.abspath(__file__), 0, 8)])

    _hdf5(path, spoil)
    return "lies in another file"


def claimed(path, marker):
    """An HDF5 file that claims more values than it has bytes."""
    _hdf5(
        path,
        lambda h5py, file: file.create_dataset("_x", (HUGE,), "u1", chunks=True),
    )
    return "it holds [0-9]+ bytes"


def _hdf5(path, spoil):
    """Spoil an HDF5 file, or the one in a .keras."""
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


def user_function(path, marker):
    """A CNTK model with a function whose module is imported from what the file says."""
    import cntk as C
    from cntk.ops.functions import UserFunction

    def forward(self, argument, device=None, outputs_to_retain=None):
        return None, argument

    def infer_outputs(self):
        return [C.output_variable(self.inputs[0].shape, np.float32, self.inputs[0].dynamic_axes)]

    module = "os import path\nopen(%r, 'w')\nfrom os" % marker
    parts = {"forward": forward, "infer_outputs": infer_outputs, "__module__": module}
    function = type("Named", (UserFunction,), dict(parts, serialize=lambda self: {}))
    C.user_function(function([C.input_variable(3)])).save(path)
    return "it holds a user function"


def operator(path, marker):
    """A net that does something else than to fill blobs."""
    from caffe2.proto import caffe2_pb2

    net = caffe2_pb2.NetDef()
    with open(path, "rb") as file:
        net.ParseFromString(file.read())
    harm = net.op.add()
    harm.type = "Save"
    harm.input.append("conv1_w")
    with open(path, "wb") as file:
        file.write(net.SerializeToString())
    return "it holds the operator Save"


KINDS = {
    ".pt": {one.__name__: one for one in (zip_bomb, bare_pickle, pickle_in_state)},
    ".keras": {one.__name__: one for one in (zip_bomb, elsewhere, outside, claimed)},
    ".weights.h5": {one.__name__: one for one in (elsewhere, outside, claimed)},
    ".h5": {one.__name__: one for one in (elsewhere, outside, claimed)},
    ".chainer.npz": {one.__name__: one for one in (zip_bomb, pickle_in_npz)},
    ".pkl": {one.__name__: one for one in (bare_pickle,)},
    ".model": {one.__name__: one for one in (user_function,)},
    ".pb": {one.__name__: one for one in (operator,)},
}
