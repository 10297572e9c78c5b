"""The data: reading, rejecting, generating and ordering it."""

import hashlib
import io
import os
import pickle
import shutil
import socket
import tarfile

import numpy as np
import pytest

import frameworks
from common.data import batches, cifar10, download, synthetic
from common.data.dataset import take
from common.system.errors import InputError

BATCH_FILES = ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]


@pytest.fixture(scope="session")
def made():
    """The whole synthetic set as a Dataset."""
    return cifar10.load("synthetic")


@pytest.fixture
def small(made, monkeypatch):
    """Files of 100 images each instead of 10,000, to be quick; and the data set in them."""
    monkeypatch.setattr(cifar10, "BATCH", 100)
    small = take(made, 500, 100)
    return small._replace(
        sha256=hashlib.sha256(small[2].tobytes() + small[4].tobytes()).hexdigest()
    )


@pytest.fixture
def written(small, tmp_path):
    """A folder with that data set in both layouts; tests must not change it."""
    folder = tmp_path / "written"
    folder.mkdir()
    images = np.concatenate([small.train_images, small.test_images]).reshape(6, 100, 3072)
    labels = np.concatenate([small.train_labels, small.test_labels]).reshape(6, 100)
    (folder / "cifar-10-batches-bin").mkdir()
    (folder / "cifar-10-batches-py").mkdir()
    for name, pixels, numbers in zip(BATCH_FILES, images, labels):
        rows = np.concatenate([numbers[:, None].astype(np.uint8), pixels], axis=1)
        (folder / "cifar-10-batches-bin" / (name + ".bin")).write_bytes(rows.tobytes())
        batch = {"data": pixels, "labels": numbers.tolist()}
        (folder / "cifar-10-batches-py" / name).write_bytes(pickle.dumps(batch, protocol=4))
    return folder


@pytest.fixture
def copy(written, tmp_path):
    """A function that copies one layout, so that a test can replace one of its files."""

    def copy(name):
        shutil.copytree(str(written / name), str(tmp_path / name))
        return tmp_path / name

    return copy


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine on which no CIFAR-10 is found; its home, cache and working folder is tmp_path."""
    monkeypatch.delenv("ROSETTA_DATA", raising=False)
    monkeypatch.setenv("ROSETTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def replace(folder, name, content):
    """Replace a file by ``content``; return its path as a str."""
    (folder / name).write_bytes(content)
    return str(folder / name)


def refused(call, *words):
    """Check that ``call`` raises an InputError of one line that contains all the words."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def same(dataset, other):
    return all(np.array_equal(a, b) for a, b in zip(dataset[2:], other[2:]))


# Reading


@pytest.mark.parametrize("name", ["cifar-10-batches-bin", "cifar-10-batches-py"])
def test_both_layouts_hold_the_same_data(name, copy, small):
    folder = copy(name)
    for path in (folder, folder.parent):  # the folder itself, and one that contains it
        read = cifar10.load(str(path))
        assert same(read, small)
        assert read.sha256 == small.sha256
        assert read.name == "cifar10 (unofficial pixels, sha256 %s)" % small.sha256[:12]
    assert read.train_images.shape == (500, 3, 32, 32) and read.train_images.dtype == np.uint8
    assert read.test_labels.shape == (100,) and read.test_labels.dtype == np.int64


@pytest.mark.parametrize(
    "files, name", [("BINARY", "cifar-10-batches-bin"), ("PICKLED", "cifar-10-batches-py")]
)
def test_only_published_checksums_make_it_official(files, name, copy, monkeypatch):
    folder = copy(name)
    sums = [
        (file, hashlib.md5((folder / file).read_bytes()).hexdigest())
        for file, _ in getattr(cifar10, files)
    ]
    monkeypatch.setattr(cifar10, files, tuple(sums))
    assert cifar10.load(str(folder)).name == "cifar10"
    monkeypatch.setattr(cifar10, files, tuple(sums[:5]) + ((sums[5][0], "0" * 32),))
    assert cifar10.load(str(folder)).name.startswith("cifar10 (unofficial pixels, sha256 ")


def test_a_python_2_pickle_is_read(copy, small):
    """The official files were pickled by Python 2, with text for bytes; this imitates them."""
    pixels = small.train_images[:100].tobytes()
    head = (
        b"\x80\x02}(U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b"
        b"\x87R(K\x01K\x64M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
    )
    labels = b"](" + b"".join(b"K" + bytes([i]) for i in small.train_labels[:100]) + b"e"
    size = len(pixels).to_bytes(4, "little")
    folder = copy("cifar-10-batches-py")
    replace(folder, "data_batch_1", head + size + pixels + b"tbU\x06labels" + labels + b"u.")
    assert same(cifar10.load(str(folder)), small)


@pytest.mark.parametrize("cut", [0, 1, 3073, 200000])
def test_truncated_binary_file(cut, copy, written):
    folder = copy("cifar-10-batches-bin")
    content = (written / "cifar-10-batches-bin" / "data_batch_2.bin").read_bytes()[: -cut or None]
    path = replace(folder, "data_batch_2.bin", content + (b"" if cut else b"\0"))
    refused(lambda: cifar10.load(str(folder)), path, "bytes, not 307300")


def test_wrong_label_in_binary_file(copy, written):
    folder = copy("cifar-10-batches-bin")
    content = bytearray((written / "cifar-10-batches-bin" / "test_batch.bin").read_bytes())
    content[3073 * 50] = 10
    path = replace(folder, "test_batch.bin", bytes(content))
    refused(lambda: cifar10.load(str(folder)), path, "label is 10")


def test_missing_file(copy):
    folder = copy("cifar-10-batches-bin")
    (folder / "data_batch_3.bin").unlink()
    refused(lambda: cifar10.load(str(folder)), str(folder / "data_batch_3.bin"), "cannot be read")


def test_no_such_folder(tmp_path):
    refused(lambda: cifar10.load(str(tmp_path / "none")), str(tmp_path / "none"), "no such folder")
    refused(lambda: cifar10.load(str(tmp_path)), str(tmp_path), "not a CIFAR-10 folder")


class Touch:
    """Pickles as a call that makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


GOOD = {"data": np.zeros((100, 3072), np.uint8), "labels": [0] * 100}


@pytest.mark.parametrize(
    "batch, cause",
    [
        (dict(GOOD, data=np.array([None, "x"], object)), "refused an array of dtype 'O8'"),
        (dict(GOOD, data=np.zeros((100, 3072), np.float32)), "refused an array of dtype 'f4'"),
        (dict(GOOD, data=np.zeros((100, 3072), np.int16)), "not a uint8 array"),
        (dict(GOOD, data=np.zeros((100, 3071), np.uint8)), "(100, 3071), not (100, 3072)"),
        (dict(GOOD, data=[1, 2]), "not a uint8 array"),
        (dict(GOOD, labels=[0] * 99), "not a list of 100"),
        (dict(GOOD, labels=[0] * 99 + [10]), "label is 10"),
        (dict(GOOD, labels=[-1] * 100), "label is -1"),
        (dict(GOOD, labels=["cat"] * 100), "label is str"),
        ({"data": GOOD["data"]}, "not a dict with 'data' and 'labels'"),
        ([1, 2, 3], "not a dict with 'data' and 'labels'"),
    ],
)
def test_wrong_pickle(batch, cause, copy):
    folder = copy("cifar-10-batches-py")
    path = replace(folder, "data_batch_1", pickle.dumps(batch, protocol=2))
    message = refused(lambda: cifar10.load(str(folder)), path)
    # Python 3 writes an array's bytes in protocol 2 by a call that is refused first.
    path = replace(folder, "data_batch_1", pickle.dumps(batch, protocol=4))
    message = refused(lambda: cifar10.load(str(folder)), path, cause)
    assert len(message) < 300 + len(path)


def test_fortran_order_and_label_arrays_are_read(copy, small):
    folder = copy("cifar-10-batches-py")
    pixels = np.asfortranarray(small.train_images[:100].reshape(100, 3072))
    batch = {"data": pixels, "labels": small.train_labels[:100].astype(">i4")}
    replace(folder, "data_batch_1", pickle.dumps(batch, protocol=4))
    assert same(cifar10.load(str(folder)), small)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_malicious_pickle_is_refused_and_does_not_run(protocol, copy, tmp_path):
    target = tmp_path / "made by the pickle"
    folder = copy("cifar-10-batches-py")
    content = pickle.dumps(Touch(target), protocol=protocol)
    path = replace(folder, "data_batch_1", content)
    refused(lambda: cifar10.load(str(folder)), path, "refused '", ".open'")
    assert not target.exists()
    pickle.loads(content).close()  # the pickle was a live one
    assert target.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
        b"(I1\n(I1\ntcnumpy\ndtype\n(S'O'\ntRI00\n(lp0\nNatb.",
        b"cnumpy\nload\n(S'/etc/passwd'\ntR.",
        b"cnumpy\ndtype.__init__\n.",
        b"cnumpy\nndarray\n}S'values'\nNsb.",
        b"",
        b"\x80\x04\x95",
        b"not a pickle\nat all",
        b"\x00" * 100,
    ],
)
def test_bytes_that_are_no_batch(content, copy):
    folder = copy("cifar-10-batches-py")
    path = replace(folder, "data_batch_1", content)
    refused(lambda: cifar10.load(str(folder)), path, "not a pickled CIFAR-10 batch")


def test_truncated_pickle(copy, written):
    folder = copy("cifar-10-batches-py")
    content = (written / "cifar-10-batches-py" / "test_batch").read_bytes()
    path = replace(folder, "test_batch", content[:10000])
    refused(lambda: cifar10.load(str(folder)), path, "not a pickled CIFAR-10 batch")


# Finding


def test_auto_reads_rosetta_data(nowhere, written, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA", str(written))
    assert cifar10.load().name.startswith("cifar10 (unofficial")


def test_rosetta_data_that_is_unusable_is_an_error(nowhere, monkeypatch):
    monkeypatch.setenv("ROSETTA_DATA", str(nowhere))
    refused(cifar10.load, str(nowhere), "$ROSETTA_DATA")
    monkeypatch.setenv("ROSETTA_DATA", str(nowhere / "none"))
    refused(cifar10.load, str(nowhere / "none"), "no such folder")


@pytest.mark.parametrize(
    "where",
    [
        "cache/cifar-10-batches-bin",
        "data/cifar-10-batches-py",
    ]
    + [
        os.path.join(folder, "cifar-10-batches-py")
        for framework in frameworks.FRAMEWORKS.values()
        for folder in framework.downloads
    ],
)
def test_auto_looks_where_others_leave_it(where, nowhere, copy):
    folder = copy(os.path.basename(where))
    target = nowhere / where
    target.parent.mkdir(parents=True)
    shutil.move(str(folder), str(target))
    (target / ("test_batch.bin" if where.endswith("bin") else "test_batch")).unlink()
    refused(lambda: cifar10.load(url="http://127.0.0.1:1/"), "cifar-10-batches", "test_batch")


def test_no_network_falls_back_loudly(nowhere, made, capsys):
    with socket.socket() as unused:  # bound but not listening: a connection is refused
        unused.bind(("127.0.0.1", 0))
        fallback = cifar10.load(url="http://127.0.0.1:%d/x.tar.gz" % unused.getsockname()[1])
    assert fallback.name == "synthetic (no CIFAR-10 found, no network)"
    assert fallback.sha256 == made.sha256 and same(fallback, made)
    assert "SYNTHETIC" in capsys.readouterr().err


@pytest.mark.parametrize("status, cause", [(200, "corrupt"), (404, "404"), (503, "503")])
def test_a_bad_download_is_no_reason_to_fall_back(status, cause, nowhere, serve):
    url = serve(b"not the archive", status)
    refused(lambda: cifar10.load(url=url), url, cause)
    assert list((nowhere / "cache").iterdir()) == []


# Downloading


def archive(*members):
    """A tar.gz of (name, bytes) or TarInfo, and its SHA-256."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue(), hashlib.sha256(buffer.getvalue()).hexdigest()


def folder_member():
    info = tarfile.TarInfo("cifar-10-batches-bin")
    info.type = tarfile.DIRTYPE
    return info


SIX = [("cifar-10-batches-bin/" + name, name.encode() * 1000) for name in download.FILES]
README = ("cifar-10-batches-bin/readme.html", b"hello")


def test_download(nowhere, serve, capsys):
    content, sha256 = archive(folder_member(), README, *SIX)
    cache = nowhere / "cache"
    folder = download.fetch(str(cache), serve(content), sha256)
    assert [file.name for file in cache.iterdir()] == ["cifar-10-batches-bin"]
    assert sorted(os.listdir(folder)) == sorted(download.FILES)
    for name, expected in SIX:
        assert (cache / name).read_bytes() == expected
    assert "100%" in capsys.readouterr().err


def test_an_interrupted_download_leaves_nothing_and_can_be_repeated(nowhere, serve):
    content, sha256 = archive(*SIX)
    cache = nowhere / "cache"
    url = serve(content[:-100], announced=len(content))
    refused(lambda: download.fetch(str(cache), url, sha256), url)
    assert list(cache.iterdir()) == []
    assert os.path.isdir(download.fetch(str(cache), serve(content), sha256))


def test_cache_that_cannot_be_written(nowhere, serve):
    content, sha256 = archive(*SIX)
    (nowhere / "cache").write_text("a file where the folder should be")
    cache = str(nowhere / "cache")
    refused(lambda: download.fetch(cache, serve(content), sha256), cache)


def link(kind, name, target):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "member",
    [
        ("../outside", b"x"),
        ("cifar-10-batches-bin/../../outside", b"x"),
        ("cifar-10-batches-bin\\..\\..\\outside", b"x"),
        ("/tmp/outside", b"x"),
        ("outside", b"x"),
        link(tarfile.SYMTYPE, "cifar-10-batches-bin/data_batch_1.bin", "/etc/passwd"),
        link(tarfile.SYMTYPE, "cifar-10-batches-bin", ".."),
        link(tarfile.LNKTYPE, "cifar-10-batches-bin/data_batch_1.bin", "../outside"),
        link(tarfile.FIFOTYPE, "cifar-10-batches-bin/pipe", ""),
        link(tarfile.CHRTYPE, "cifar-10-batches-bin/device", ""),
    ],
)
def test_an_archive_that_points_outside_is_refused(member, nowhere, serve):
    content, sha256 = archive(*(SIX + [member]))
    cache = nowhere / "cache"
    refused(lambda: download.fetch(str(cache), serve(content), sha256), "refused: member")
    assert [file.name for file in nowhere.iterdir()] == ["cache"]
    assert not any(file.is_dir() for file in cache.iterdir())


@pytest.mark.parametrize(
    "content, cause",
    [
        (archive(*SIX[:5])[0], "test_batch.bin is missing"),
        (archive(*SIX)[0][:-200], "cannot be unpacked"),
        (b"no archive", "cannot be unpacked"),
    ],
    ids=["five files", "cut short", "no archive"],  # an archive has the time in it
)
def test_an_archive_without_a_batch_file_or_cut_short(content, cause, tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    refused(lambda: download.unpack(str(path), str(tmp_path)), str(path), cause)
    assert [file.name for file in tmp_path.iterdir()] == ["x.tar.gz"]


def test_the_published_checksums_are_pinned():
    assert download.SHA256.startswith("c4a38c50a1bc5f3a") and len(download.SHA256) == 64
    assert tuple(name for name, _ in cifar10.BINARY) == download.FILES


# The synthetic set


def test_synthetic_is_the_same_bits_everywhere(made):
    assert made.name == "synthetic"
    assert made.sha256 == "5e61b629a93c9d2a7c72dfd7726622e7cbd5b31e5915791d737c973e7bc1396a"
    labels = np.concatenate([made.train_labels, made.test_labels]).astype("<i8").tobytes()
    digest = hashlib.sha256(labels).hexdigest()
    assert digest == "2f8cf9c93b82fc9440144fcd0e374840d4ab9d1c3001a4916407b4a6bbf9d7a2"


def test_synthetic_has_cifar10s_shape(made):
    assert made.train_images.shape == (50000, 3, 32, 32)
    assert made.test_images.shape == (10000, 3, 32, 32)
    assert made.train_images.dtype == np.uint8 and made.train_labels.dtype == np.int64
    assert np.bincount(made.train_labels).tolist() == [5000] * 10
    assert np.bincount(made.test_labels).tolist() == [1000] * 10


def test_fewer_synthetic_images_are_the_first_ones(made):
    few = synthetic.make(1234, 56)
    for array, whole, count in zip(few, made[2:], (1234, 1234, 56, 56)):
        assert len(array) == count and np.array_equal(array, whole[:count])


def test_nothing_in_synthetic_correlates_with_the_class(made):
    """The gradient of any linear model that ignores the pixels is zero: it has nothing to learn."""
    for images, labels in (made[2:4], made[4:6]):
        sums = [images[labels == k].sum(axis=0, dtype=np.int64) for k in range(10)]
        assert all((total * 2 == 255 * len(labels) // 10).all() for total in sums)


def test_a_linear_model_of_synthetic_stays_at_chance(made):
    """Ridge regression of the classes on the pixels of every other row; chance is 10%."""
    x = made.train_images[:2000, :, ::2].reshape(2000, -1) / 255.0 - 0.5
    y = np.eye(10)[made.train_labels[:2000]]
    weights = np.linalg.solve(x.T.dot(x) + np.eye(x.shape[1]), x.T.dot(y))
    scores = x.dot(weights)
    assert abs(scores).max() < 1e-6  # against 1 for the right class: the fit is the constant
    assert (scores.round(6).argmax(1) == made.train_labels[:2000]).mean() == 0.1


# Taking and batching


def test_take_takes_the_first(made):
    few = take(made, 100, 10)
    assert few.name == made.name and few.sha256 == made.sha256
    assert np.array_equal(few.train_images, made.train_images[:100])
    assert np.array_equal(few.test_labels, made.test_labels[:10])
    assert same(take(made, 50000, 10000), made) and same(take(made), made)


@pytest.mark.parametrize("train, test", [(0, 1), (1, 0), (-1, 1), (50001, 1), (1, 10001)])
def test_take_no_more_than_there_is(train, test, made):
    refused(lambda: take(made, train, test), "synthetic has 1 to")


def test_order_is_the_same_everywhere():
    order = batches.order(1000, 64, seed=3, epoch=7)
    assert order.shape == (15, 64) and order.dtype == np.int64
    digest = hashlib.sha256(order.astype("<i8").tobytes()).hexdigest()
    assert digest == "1f30950285526086028a1b6c6d54a1f4741178a2c49621ebd4df3f9e100ab304"


def test_order_draws_each_observation_once_and_differs_by_epoch_and_seed():
    order = batches.order(640, 64, seed=1, epoch=0)
    assert sorted(order.ravel()) == list(range(640))
    assert len(set(batches.order(700, 64, seed=1, epoch=0).ravel())) == 640
    assert np.array_equal(order, batches.order(640, 64, seed=1, epoch=0))
    for seed, epoch in ((1, 1), (0, 1), (2, 0)):
        assert not np.array_equal(order, batches.order(640, 64, seed=seed, epoch=epoch))


def test_batches_follow_the_order():
    x, y = np.arange(200).reshape(100, 2), np.arange(100)
    drawn = list(batches.batches(x, y, 30, seed=5, epoch=2))
    assert len(drawn) == 3
    for indices, (bx, by) in zip(batches.order(100, 30, seed=5, epoch=2), drawn):
        assert np.array_equal(bx, x[indices]) and np.array_equal(by, indices)


def test_fewer_images_than_one_batch():
    refused(lambda: batches.order(63, 64, seed=0, epoch=0), "63", "64")
