"""Weights in a file: canonical, for all frameworks, or in a framework's own format.

``frameworks/NAME/native.py`` saves and restores a framework's own format. A file may come from a
stranger, so files that unpack to too many bytes, or point to other files, are refused unread.
"""

import io
import os
import tempfile
import zipfile

import numpy as np

import frameworks
from common import networks
from common.dump import pickles
from common.networks import weights as canonical
from common.run import hugging_face
from common.system import array_files, memory, modules, zips
from common.system.errors import InputError

STATES = 4  # a file may be so many times the weights' size: it may have an optimiser's state
ROOM = 2**26  # and so many bytes more, for a graph and names


def check_name(description, name, path):
    """InputError unless the environment ``name`` knows files with the ending of ``path``."""
    if path.endswith(hugging_face.ENDING):
        hugging_face.known(description, path)
        return
    endings = array_files.ENDINGS + frameworks.ENVIRONMENTS[name].endings
    if not path.endswith(endings):
        if networks.part(description.name, "hugging_face"):
            endings += (hugging_face.ENDING,)
        expected = (path, name, ", ".join(endings))
        raise InputError("%s: for %s the name must end in one of %s" % expected)
    if not native(name, path):
        array_files.ending(path)  # InputError if this environment cannot read it


def native(name, path):
    """Whether it is a file in the framework's own format, which may be ``.npz`` too."""
    return path.endswith(frameworks.ENVIRONMENTS[name].endings)


def read(description, name, path, build):
    """A file's weights, in canonical form.

    ``build(weights)`` makes a model, into which a framework's own file is restored. InputError
    names the file and the fault.
    """
    if path.endswith(hugging_face.ENDING):
        return hugging_face.read(description, path)
    if not native(name, path):
        return canonical.load(description, path)
    files = files_of(path)
    if not files:
        raise InputError("%s: No such file or directory" % path)
    limit = ROOM + STATES * 4 * sum(int(np.prod(shape)) for shape in description.shapes.values())
    with memory.limited():
        for file in files:
            _refuse(file, limit)
    # A weight that is missing from the file remains NaN, which shows.
    nothing = {name: np.full(w, np.nan, np.float32) for name, w in description.shapes.items()}
    module, model = build(nothing)
    try:
        native_file = modules.load(name, "native")
        with memory.limited():  # what a file unpacks to may be more than it says
            native_file.restore(model, path)
    except Exception as error:  # a framework may raise almost anything
        words = "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
        raise InputError("%s: not weights of this network (%s)" % (path, words))
    restored = module.weights(model)
    for name, w in restored.items():
        if np.isnan(w).all():
            raise InputError("%s: tensor %r is missing" % (path, name))
    return canonical.check(description, restored, path)


def write(description, name, path, model, weights):
    """Write a model's weights to a file, completely or not at all.

    weights: the same in canonical form.
    """
    if path.endswith(hugging_face.ENDING):
        hugging_face.write(description, path, weights)
        return
    if not native(name, path):
        canonical.save(description, path, weights)
        return
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".part-") as part:
            modules.load(name, "native").save(model, os.path.join(part, os.path.basename(path)))
            for file in os.listdir(part):  # some formats have several files
                os.replace(os.path.join(part, file), os.path.join(folder, file))
    except Exception as error:  # a framework may raise almost anything if the disk is full
        why = getattr(error, "strerror", None) or " ".join(str(error).split())[:200]
        raise InputError("%s: cannot be written: %s" % (path, why or type(error).__name__))


def check_onnx(name):
    """InputError if the environment ``name`` does not write ONNX."""
    if not frameworks.ENVIRONMENTS[name].onnx:
        able = ", ".join(other for other, e in frameworks.ENVIRONMENTS.items() if e.onnx)
        raise InputError("--save-onnx: %s cannot; these can: %s" % (name, able))


def export(name, path, model, x):
    """Write a model as ONNX, atomically. x: two observations, from ``load``."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".part-") as part:
        written = os.path.join(part, "network.onnx")
        try:
            modules.load(name, "export").export(model, x, written)
        except Exception as error:  # an exporter may raise almost anything
            words = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError("%s: %s cannot write this network as ONNX: %s" % (path, name, words))
        beside = [file for file in os.listdir(part) if file != os.path.basename(written)]
        if beside:  # its weights would be lost
            raise InputError(
                "%s: %s wrote more than one file: %s" % (path, name, ", ".join(beside))
            )
        os.replace(written, path)


def files_of(path):
    """All files of the weights: a single file, a folder's files, or those of a checkpoint."""
    if os.path.isdir(path):
        inside = os.walk(path)
        return [os.path.join(folder, file) for folder, _, files in inside for file in files]
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.isfile(path):
        return [path]
    beside = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, file) for file in beside if file.startswith(name + ".")]


def _refuse(path, limit):
    """InputError for a file that is too large, packed or unpacked, or that points elsewhere."""
    try:
        # The name decides, as it does for the framework: a file may be of two kinds at once.
        size = os.path.getsize(path)
        if path.endswith((".pkl", ".pdparams")):
            _read_pickle(path)
        elif path.endswith(".h5"):
            with open(path, "rb") as file:
                size += _hdf5_size(file.read()) if size <= limit else 0
        elif zipfile.is_zipfile(path):
            with zips.opened(path) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
                if size <= limit:
                    for entry in archive.infolist():
                        if entry.filename.endswith(".h5"):
                            size += _hdf5_size(archive.open(entry).read())
    except InputError as error:
        raise InputError("%s: %s" % (path, error))
    except Exception as error:  # a broken file can raise almost anything
        raise InputError("%s: not a file of weights: %s" % (path, " ".join(str(error).split())))
    if size > limit:
        sizes = (path, size, limit)
        raise InputError("%s: it contains %d bytes; this network's weights take at most %d" % sizes)


def _read_pickle(path):
    """InputError for a pickle of more than arrays; NumPy, which frameworks use, trusts it."""
    try:
        with open(path, "rb") as file:
            pickles.read(file)
    except Exception as error:  # a broken file can raise almost anything
        raise InputError("not weights of this network: %s" % (error or type(error).__name__))


def _hdf5_size(content):
    """The bytes of all data sets of an HDF5 file."""
    import h5py  # installed with the frameworks that use such files

    from common.system.hdf5 import datasets

    with h5py.File(io.BytesIO(content), "r") as file:
        return sum(item.size * item.dtype.itemsize for item in datasets(file))
