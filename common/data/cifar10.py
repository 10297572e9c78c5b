"""CIFAR-10: find or download, verify and read it; or use a synthetic substitute."""

import hashlib
import io
import os
import pickle

import numpy as np

import frameworks
from common.data import download, synthetic
from common.data.dataset import SYNTHETIC, Dataset, content_of, sha256_of, warn_of_synthetic
from common.system.errors import InputError
from common.system.files import cache_folder

OFFICIAL = "cifar10"
FALLBACK = "synthetic (no CIFAR-10 found, no network)"

BATCH = 10000  # observations in each of the six files

# MD5 of each file of the two official archives. The pickled ones are published in torchvision
# (torchvision/datasets/cifar.py), the binary ones in a tutorial (cmake/fetch_cifar10.cmake).
BINARY = (
    ("data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"),
    ("data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"),
    ("data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"),
    ("data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"),
    ("data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"),
    ("test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"),
)
PICKLED = (
    ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
    ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
    ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
    ("data_batch_4", "634d18415352ddfa80567beed471001a"),
    ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    ("test_batch", "40351d587109b95175f43aff81a1287e"),
)


def load(where="auto", url=download.URL):
    """The data set at ``where``: "synthetic", a folder, or "auto", which finds or downloads it.

    A folder is, or contains, ``cifar-10-batches-bin`` or ``cifar-10-batches-py``. "auto" looks in
    $ROSETTA_DATA, the cache folder, and the folders of torchvision and the frameworks, and then
    downloads ``url``; without a network it falls back to "synthetic" and prints a warning.
    InputError if a folder, a file or the download cannot be used.
    """
    if where == "synthetic":
        return _synthetic(SYNTHETIC)
    if where != "auto":
        return _read(_find(where, "not a CIFAR-10 folder"))
    if os.environ.get("ROSETTA_DATA"):
        return _read(_find(os.environ["ROSETTA_DATA"], "$ROSETTA_DATA is not a CIFAR-10 folder"))
    downloads = [
        folder for framework in frameworks.FRAMEWORKS.values() for folder in framework.downloads
    ]
    home = os.path.expanduser("~")
    for folder in [cache_folder(), "data"] + [os.path.join(home, path) for path in downloads]:
        layout = _layout(folder)
        if layout:
            return _read(layout)
    try:
        return _read(_layout(download.fetch(cache_folder(), url)))
    except download.NoNetwork as error:
        warn_of_synthetic("CIFAR-10", "CIFAR-10", error)
        return _synthetic(FALLBACK)


def _synthetic(name):
    arrays = synthetic.make()
    return Dataset(name, sha256_of(arrays[0], arrays[2]), *arrays)


def _layout(path):
    """(folder, read function, files) of the batch files in or below ``path``; None without any."""
    for read, files, name in (
        (_read_binary, BINARY, "cifar-10-batches-bin"),
        (_read_pickled, PICKLED, "cifar-10-batches-py"),
    ):
        for folder in (path, os.path.join(path, name)):
            if any(os.path.isfile(os.path.join(folder, file)) for file, _ in files):
                return folder, read, files
    return None


def _find(path, otherwise):
    layout = _layout(path)
    if layout is None:
        cause = otherwise if os.path.exists(path) else "no such folder"
        raise InputError("%s: %s" % (path, cause))
    return layout


def _read(layout):
    """The data set in the six files of a layout."""
    folder, read, files = layout
    images = np.empty((len(files) * BATCH, 3, 32, 32), np.uint8)
    labels = np.empty(len(files) * BATCH, np.int64)
    official = True
    for i, (name, md5) in enumerate(files):
        path = os.path.join(folder, name)
        content = content_of(path)
        official = official and hashlib.md5(content).hexdigest() == md5
        rows = slice(i * BATCH, (i + 1) * BATCH)
        batch_images, batch_labels = read(path, content)
        images[rows] = batch_images.reshape(BATCH, 3, 32, 32)
        labels[rows] = batch_labels
    test = 5 * BATCH
    sha256 = sha256_of(images[:test], images[test:])
    name = OFFICIAL if official else "cifar10 (unofficial pixels, sha256 %s)" % sha256[:12]
    return Dataset(name, sha256, images[:test], labels[:test], images[test:], labels[test:])


def _read_binary(path, content):
    """Pixels (BATCH, 3072) and labels, from rows of one label and 3072 pixels."""
    if len(content) != BATCH * 3073:
        raise InputError("%s: has %d bytes, not %d" % (path, len(content), BATCH * 3073))
    rows = np.frombuffer(content, np.uint8).reshape(BATCH, 3073)
    labels = rows[:, 0]
    if labels.max() > 9:
        raise InputError("%s: a label is %d, not 0 to 9" % (path, labels.max()))
    return rows[:, 1:], labels


def _read_pickled(path, content):
    """Pixels (BATCH, 3072) and labels of a pickled dict, which may be malicious."""
    try:
        batch = _Unpickler(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a broken pickle can raise almost anything
        cause = " ".join(str(error).split()) or type(error).__name__
        raise InputError("%s: not a pickled CIFAR-10 batch: %s" % (path, cause))
    if not isinstance(batch, dict) or "data" not in batch or "labels" not in batch:
        raise InputError("%s: not a dict with 'data' and 'labels'" % path)
    pixels = getattr(batch["data"], "values", None)
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
        raise InputError("%s: 'data' is not a uint8 array" % path)
    if pixels.shape != (BATCH, 3072):
        raise InputError("%s: 'data' is %s, not %s" % (path, pixels.shape, (BATCH, 3072)))
    labels = batch["labels"]
    if isinstance(labels, _Array) and labels.values is not None:
        labels = labels.values.ravel().tolist()
    if not isinstance(labels, list) or len(labels) != BATCH:
        raise InputError("%s: 'labels' is not a list of %d" % (path, BATCH))
    for label in labels:
        if type(label) is not int or not 0 <= label <= 9:
            # Show only numbers: the repr of an untrusted object may take forever.
            shown = label if type(label) is int else type(label).__name__
            raise InputError("%s: a label is %.20s, not 0 to 9" % (path, shown))
    return pixels, np.array(labels)


class _Dtype:
    """Replaces numpy.dtype while a pickle is read."""

    order = "="

    def __init__(self, code, *_):
        self.code = code

    def __setstate__(self, state):
        self.order = state[1]


class _Array:
    """Replaces a NumPy array while a pickle is read; NumPy itself never sees the pickle."""

    def __init__(self, *_):
        self.values = None

    def __setstate__(self, state):
        _, shape, dtype, fortran, raw = state
        if dtype.code not in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"):
            shown = dtype.code if isinstance(dtype.code, str) else type(dtype.code).__name__
            raise pickle.UnpicklingError("refused an array of dtype %.20r" % shown)
        if isinstance(raw, str):  # Python 2 wrote its bytes as text
            raw = raw.encode("latin1")
        values = np.frombuffer(raw, np.dtype(dtype.code).newbyteorder(dtype.order))
        self.values = values.reshape(shape, order="F" if fortran else "C")


class _Unpickler(pickle.Unpickler):
    """Reads plain containers and arrays of integers; refuses all other names and runs no code."""

    NAMES = {
        "numpy.core.multiarray._reconstruct": _Array,
        "numpy._core.multiarray._reconstruct": _Array,  # since NumPy 2
        "numpy.ndarray": _Array,
        "numpy.dtype": _Dtype,
    }

    def find_class(self, module, name):
        try:
            return self.NAMES["%s.%s" % (module, name)]
        except KeyError:
            raise pickle.UnpicklingError("refused %.80r" % ("%s.%s" % (module, name)))
