"""MNIST: find or download, verify and read it; or use a synthetic substitute."""

import gzip
import hashlib
import os
import struct
import zlib

import numpy as np

from common.data import download, synthetic
from common.data.dataset import SYNTHETIC, Dataset, sha256_of, warn_of_synthetic
from common.system.errors import InputError
from common.system.files import cache_folder

FALLBACK = "synthetic (no MNIST found, no network)"

URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"  # torchvision's copy

# MD5 of each of the four files, as torchvision publishes them (torchvision/datasets/mnist.py).
FILES = (
    ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
    ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
    ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
)


def load(where="auto", url=URL):
    """The data set at ``where``: "synthetic", a folder with the four gzipped files, or "auto".

    "auto" looks in $ROSETTA_DATA, the cache folder and torchvision's folder, and then downloads it
    from ``url``; without a network it falls back to "synthetic" and prints a warning. Images are
    (n, 1, 28, 28) uint8. InputError if a folder, a file or the download cannot be used.
    """
    if where == "synthetic":
        return _synthetic(SYNTHETIC)
    if where != "auto":
        return _read(_find(where, "not an MNIST folder"))
    if os.environ.get("ROSETTA_DATA"):
        return _read(_find(os.environ["ROSETTA_DATA"], "$ROSETTA_DATA is not an MNIST folder"))
    for place in (cache_folder(), "data"):
        folder = _folder(place)
        if folder:
            return _read(folder)
    try:
        return _read(_download(url))
    except download.NoNetwork as error:
        warn_of_synthetic("MNIST", "MNIST's four files", error)
        return _synthetic(FALLBACK)


def _download(url):
    """Download the four files into the cache folder, all or none."""
    target = os.path.join(cache_folder(), "mnist")
    if os.path.isdir(target):
        raise InputError("%s: lacks %s; remove it to have MNIST downloaded" % (target, FILES[0][0]))
    with download.temporary_folder(cache_folder()) as folder:
        for name, md5 in FILES:
            download.retrieve(url + name, folder, name, "md5:" + md5)
        download.put_in_place(folder, target)
    return target


def _synthetic(name):
    train, train_labels, test, test_labels = synthetic.make(60000, 10000)
    # MNIST's size in grey: a third of the columns from each colour, which keeps classes distinct.
    colours = np.arange(28) // 10
    train, test = (
        np.ascontiguousarray(images[:, colours, :28, np.arange(28)].transpose(1, 2, 0)[:, None])
        for images in (train, test)
    )
    return Dataset(name, sha256_of(train, test), train, train_labels, test, test_labels)


def _folder(place):
    """``place`` or a folder ``mnist`` in it, whichever has the first file; None if neither."""
    for folder in (place, os.path.join(place, "mnist"), os.path.join(place, "MNIST", "raw")):
        if os.path.isfile(os.path.join(folder, FILES[0][0])):
            return folder
    return None


def _find(place, otherwise):
    folder = _folder(place)
    if folder is None:
        missing = "%s: it has no %s" % (otherwise, FILES[0][0])
        raise InputError("%s: %s" % (place, missing if os.path.exists(place) else "no such folder"))
    return folder


def _read(folder):
    arrays, official = [], True
    for name, md5 in FILES:
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                content = file.read()
            official = official and hashlib.md5(content).hexdigest() == md5
            arrays.append(_array(path, gzip.decompress(content)))
        except (OSError, EOFError, zlib.error) as error:
            cause = getattr(error, "strerror", None) or error
            raise InputError("%s: cannot be read: %s" % (path, cause))
    train, train_labels, test, test_labels = arrays
    for images, labels in ((train, train_labels), (test, test_labels)):
        if images.ndim != 4 or labels.ndim != 1:
            raise InputError("%s: a file of images holds labels, or the reverse" % folder)
    if len(train) != len(train_labels) or len(test) != len(test_labels):
        raise InputError("%s: not as many labels as images" % folder)
    if max(train_labels.max(), test_labels.max()) > 9:
        raise InputError("%s: a label is more than 9" % folder)
    sha256 = sha256_of(train, test)
    name = "mnist" if official else "mnist (unofficial, sha256 %s)" % sha256[:12]
    return Dataset(name, sha256, train, train_labels, test, test_labels)


def _array(path, content):
    """The array of an idx file: images (n, 1, 28, 28) uint8 or labels (n,) int64."""
    dimensions = {b"\0\0\x08\x03": 3, b"\0\0\x08\x01": 1}.get(content[:4])
    header = 4 + 4 * (dimensions or 0)
    if dimensions is None or len(content) < header:
        raise InputError("%s: not an idx file of bytes" % path)
    shape = struct.unpack(">%dI" % dimensions, content[4:header])
    values = np.frombuffer(content, np.uint8, offset=header)
    if values.size != np.prod(shape) or not shape[0] or shape[1:] not in ((), (28, 28)):
        raise InputError("%s: holds %d values, not those of shape %s" % (path, values.size, shape))
    if dimensions == 1:
        return values.astype(np.int64)
    return values.reshape(-1, 1, 28, 28)
