"""Texts as numbers: Shakespeare's plays and film reviews, read, refused and downloaded."""

import hashlib
import io
import os
import tarfile

import numpy as np
import pytest

from common.data import reviews, shakespeare
from tests.common.test_data import refused

PLAY = "First Citizen:\nSpeak, speak.\n\nAll:\n" + "We know't, we know't. " * 100
PLAY = "\n\n".join([PLAY] * 10)


def test_a_target_is_the_next_character(tmp_path):
    (tmp_path / shakespeare.FILE).write_text(PLAY)
    dataset = shakespeare.load(str(tmp_path))
    x, y = dataset.train_images, dataset.train_labels
    assert x.shape == (shakespeare.WINDOWS, shakespeare.CONTEXT) and x.dtype == np.int64
    assert np.array_equal(x[:, 1:], y[:, :-1])
    assert shakespeare.decode(x[0]) in PLAY
    held_out = shakespeare.decode(dataset.test_images.ravel())
    assert held_out in PLAY[len(PLAY) * 9 // 10 :]


def test_a_speech_is_padded_and_padding_does_not_count(tmp_path):
    (tmp_path / shakespeare.FILE).write_text(PLAY)
    dataset = shakespeare.load_speeches(str(tmp_path))
    x, y = dataset.train_images[0], dataset.train_labels[0]
    speech = "First Citizen:\nSpeak, speak."
    assert shakespeare.decode(x) == speech.ljust(shakespeare.CONTEXT, "\n")
    assert shakespeare.decode(y[y != shakespeare.IGNORED]) == speech[1:]
    assert (y[len(speech) - 1 :] == shakespeare.IGNORED).all()
    assert not (dataset.train_labels[1] == shakespeare.IGNORED).any()  # a long one is cut


@pytest.mark.parametrize(
    "content, line",
    [
        ("ten € a day" + PLAY, "line 1 has the character '€', which is not one of the 65"),
        (b"caf\xe9" + PLAY.encode(), "byte 3 is not UTF-8"),
        ("", "0 characters; 1280 are needed"),
        ("Speak, speak.", "13 characters; 1280 are needed"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(tmp_path, content, line):
    content = content if isinstance(content, bytes) else content.encode("utf-8")
    (tmp_path / shakespeare.FILE).write_bytes(content)
    for load in (shakespeare.load, shakespeare.load_speeches):
        refused(lambda load=load: load(str(tmp_path)), line)


@pytest.mark.parametrize("load", [shakespeare.load, shakespeare.load_speeches, reviews.load])
def test_a_folder_without_the_files_is_refused(tmp_path, load):
    refused(lambda: load(str(tmp_path)), ": it has no ")
    refused(lambda: load(str(tmp_path / "nowhere")), ": no such f")


@pytest.mark.parametrize("load", [shakespeare.load, shakespeare.load_speeches, reviews.load])
def test_without_a_network_a_synthetic_text_takes_its_place(nowhere, capsys, load):
    dataset = load(url="http://127.0.0.1:9/")
    assert dataset.name.startswith("synthetic (no ")
    assert "SYNTHETIC" in capsys.readouterr().err
    again = load("synthetic")
    assert again.name == "synthetic" and np.array_equal(again.train_images, dataset.train_images)


def test_shakespeare_is_downloaded_once_and_checked(nowhere, monkeypatch, serve):
    content = PLAY.encode()
    address = serve(content)
    refused(lambda: shakespeare.load(url=address), "the download is corrupt")
    monkeypatch.setattr(shakespeare, "SHA256", hashlib.sha256(content).hexdigest())
    assert shakespeare.load(url=address).name == "tiny shakespeare"
    assert shakespeare.load(url="http://127.0.0.1:9/").name == "tiny shakespeare"


def archive(contents):
    """A gzipped tar of {name: bytes} in the folder that the publisher's has."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in contents.items():
            member = tarfile.TarInfo("rt-polaritydata/" + name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def sentences(seed):
    """A file of short sentences, one a line."""
    random = np.random.RandomState(seed)
    lines = (" ".join("w%d" % i for i in random.randint(0, 50, 5)) for _ in range(1200))
    return "\n".join(lines).encode()


def test_reviews_are_padded_in_front_and_rare_words_unknown(tmp_path):
    for number, (name, _) in enumerate(reviews.FILES):
        (tmp_path / name).write_bytes(sentences(number))
    dataset = reviews.load(str(tmp_path))
    x = dataset.train_images
    assert x.shape == (2400 - reviews.TEST, reviews.STEPS) and x.dtype == np.int64
    assert (x[:, :-5] == reviews.PADDING).all() and (x[:, -5:] > reviews.UNKNOWN).all()
    assert dataset.test_labels.sum() == reviews.TEST // 2


def test_reviews_are_downloaded_once_and_checked(nowhere, monkeypatch, serve):
    files = {name: sentences(number) for number, (name, _) in enumerate(reviews.FILES)}
    address = serve(archive(files))
    refused(lambda: reviews.load(url=address), "has another checksum")
    sums = [(name, hashlib.sha256(content).hexdigest()) for name, content in files.items()]
    monkeypatch.setattr(reviews, "FILES", tuple(sums))
    assert reviews.load(url=address).name == "film reviews"
    assert reviews.load(url="http://127.0.0.1:9/").name == "film reviews"
    assert sorted(os.listdir(str(nowhere / "cache" / "reviews"))) == sorted(files)


def test_reviews_that_are_too_few_or_not_utf8_are_refused(tmp_path):
    first, second = (name for name, _ in reviews.FILES)
    (tmp_path / first).write_bytes(sentences(0))
    (tmp_path / second).write_bytes(b"too few")
    refused(lambda: reviews.load(str(tmp_path)), "1 sentences; 1063 are needed")
    (tmp_path / second).write_bytes(b"caf\xe9")
    refused(lambda: reviews.load(str(tmp_path)), "byte 3 is not UTF-8")
