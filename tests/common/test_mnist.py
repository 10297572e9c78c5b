"""MNIST: reading, refusing and downloading it."""

import gzip
import hashlib
import os
import struct

import numpy as np
import pytest

from common.data import mnist
from tests.common.test_data import refused


def idx(array):
    """The idx file of an array of bytes, gzipped."""
    head = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(">%dI" % array.ndim, *array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


@pytest.fixture
def contents():
    """The four files of a small set: {name: bytes}."""
    random = np.random.RandomState(0)
    arrays = []
    for n in (12, 5):
        arrays += [random.randint(0, 256, (n, 28, 28)), random.randint(0, 10, n)]
    return {name: idx(array) for (name, _), array in zip(mnist.FILES, arrays)}


@pytest.fixture
def folder(contents, tmp_path):
    """A folder with these files."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def published(monkeypatch, contents):
    """Expect the checksums of these files."""
    sums = [(name, hashlib.md5(contents[name]).hexdigest()) for name, _ in mnist.FILES]
    monkeypatch.setattr(mnist, "FILES", tuple(sums))


def test_reading(folder, contents, monkeypatch):
    dataset = mnist.load(str(folder))
    assert dataset.name.startswith("mnist (unofficial, sha256 ")
    assert dataset.train_images.shape == (12, 1, 28, 28) and dataset.test_images.dtype == np.uint8
    assert dataset.train_labels.dtype == np.int64 and len(dataset.test_labels) == 5
    raw = gzip.decompress(contents["train-images-idx3-ubyte.gz"])
    assert dataset.train_images.tobytes() == raw[16:]
    published(monkeypatch, contents)
    assert mnist.load(str(folder)).name == "mnist"


def test_auto_looks_where_it_may_be(folder, nowhere, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA", str(folder.parent))
    assert len(mnist.load().train_labels) == 12


def test_rosetta_data_that_is_unusable_is_an_error(nowhere, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA", str(nowhere))
    refused(mnist.load, str(nowhere), "$ROSETTA_DATA", "train-images-idx3-ubyte.gz")
    monkeypatch.setenv("ROSETTA_DATA", str(nowhere / "none"))
    refused(mnist.load, str(nowhere / "none"), "no such folder")


@pytest.mark.parametrize(
    "number, spoil, cause",
    [
        (0, lambda content: content[:40], "cannot be read"),
        (0, lambda content: b"no gzip", "cannot be read"),
        (0, lambda content: gzip.compress(b"\0\0\x0d\x03" + b"\0" * 40), "not an idx file"),
        (0, lambda content: gzip.compress(gzip.decompress(content)[:-1]), "values, not those of"),
        (1, lambda content: idx(np.full(12, 10)), "a label is more than 9"),
        (1, lambda content: idx(np.zeros(11)), "not as many labels as images"),
        (2, lambda content: idx(np.zeros((5, 28, 27))), "values, not those of"),
        (2, lambda content: idx(np.zeros(5)), "a file of images holds labels"),
        (3, lambda content: idx(np.zeros((5, 28, 28))), "a file of images holds labels"),
    ],
)
def test_a_spoilt_file_is_refused(number, spoil, cause, folder):
    path = folder / mnist.FILES[number][0]
    path.write_bytes(spoil(path.read_bytes()))
    refused(lambda: mnist.load(str(folder)), cause)


def test_no_folder_and_no_mnist_in_it(tmp_path):
    refused(lambda: mnist.load(str(tmp_path / "none")), "no such folder")
    refused(lambda: mnist.load(str(tmp_path)), "not an MNIST folder")


def test_downloading(serve, contents, nowhere, monkeypatch):
    published(monkeypatch, contents)
    dataset = mnist.load(url=serve(contents))
    assert dataset.name == "mnist" and os.listdir(str(nowhere / "cache")) == ["mnist"]
    assert mnist.load(url="http://127.0.0.1:1/").sha256 == dataset.sha256


def test_a_download_with_a_wrong_checksum_leaves_nothing(serve, contents, nowhere):
    refused(lambda: mnist.load(url=serve(contents)), "corrupt")
    assert os.listdir(str(nowhere / "cache")) == []


def test_a_download_that_breaks_off_leaves_nothing(serve, contents, nowhere, monkeypatch):
    published(monkeypatch, contents)
    del contents[mnist.FILES[3][0]]
    refused(lambda: mnist.load(url=serve(contents)), "404")
    assert os.listdir(str(nowhere / "cache")) == []


def test_no_network_falls_back_loudly(nowhere, capsys, monkeypatch):
    monkeypatch.setattr(mnist.synthetic, "make", lambda train, test: SMALL)
    dataset = mnist.load(url="http://127.0.0.1:1/")
    assert dataset.name == "synthetic (no MNIST found, no network)"
    assert dataset.train_images.shape == (3, 1, 28, 28)
    assert "SYNTHETIC" in capsys.readouterr().err


SMALL = tuple(
    np.zeros(shape, kind)
    for n in (3, 2)
    for shape, kind in (((n, 3, 32, 32), np.uint8), (n, np.int64))
)
