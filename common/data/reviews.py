"""Sentences of film reviews, positive or negative, as numbers of words (Pang and Lee, 2005).

Stands in for IMDB's reviews, which the original comparison's recurrent network was trained on.
"""

import hashlib
import os
import tarfile
import zlib
from collections import Counter

import numpy as np

from common.data import download
from common.data.dataset import SYNTHETIC, Dataset, content_of, text_of, warn_of_synthetic
from common.system.errors import InputError
from common.system.files import cache_folder

URL = "https://www.cs.cornell.edu/people/pabo/movie-review-data/rt-polaritydata.tar.gz"
# Of the two files: negative sentences, then positive ones.
FILES = (
    ("rt-polarity.neg", "2d11cfbc790f1cd96d78339f41ce53ced1efa83cd22d37d6788fa3fe3d17e2fd"),
    ("rt-polarity.pos", "4134882974a28d0c7b5151256f0e33a6169984ee7372c279e673f1114f475d58"),
)
FALLBACK = "synthetic (no film reviews found, no network)"

STEPS = 40  # words of a sentence: its last ones, after padding
WORDS = 10000  # numbers: padding, an unknown word, and the commonest words of the training set
PADDING, UNKNOWN = 0, 1
TEST = 1062  # sentences that are held out, as many of each class
SEED = 5


def load(where="auto", url=URL):
    """The sentences at ``where``: "synthetic", "auto", or a folder with the two files.

    A sentence is (STEPS,) int64; its label is 0 for a negative one. "auto" looks in $ROSETTA_DATA
    and the cache folder, then downloads from ``url``; without a network it falls back to
    "synthetic" and prints a warning. InputError if a folder, a file or the download cannot be used.
    """
    if where == "synthetic":
        return _dataset(SYNTHETIC, _synthetic())
    if where != "auto":
        return _dataset(*_read(_find(where)))
    for place in (os.environ.get("ROSETTA_DATA"), cache_folder()):
        folder = _folder(place) if place else None
        if folder:
            return _dataset(*_read(folder))
    try:
        return _dataset(*_read(_download(url)))
    except download.NoNetwork as error:
        warn_of_synthetic("film reviews", "the two rt-polarity files", error)
        return _dataset(FALLBACK, _synthetic())


def _dataset(name, sentences):
    """Split (negative, positive) lists of lists of words, number the words, and pad."""
    random = np.random.RandomState(SEED)
    test, train = [], []
    for label, of_class in enumerate(sentences):
        order = random.permutation(len(of_class))
        half = TEST // 2
        test += [(of_class[i], label) for i in order[:half]]
        train += [(of_class[i], label) for i in order[half:]]
    counts = Counter(word for words, _ in train for word in words)
    commonest = sorted(counts, key=lambda word: (-counts[word], word))[: WORDS - 2]
    numbers = {word: number for number, word in enumerate(commonest, 2)}
    arrays = []
    for part in (train, test):
        x = np.full((len(part), STEPS), PADDING, np.int64)
        for row, (words, _) in enumerate(part):
            known = [numbers.get(word, UNKNOWN) for word in words][-STEPS:]
            if known:
                x[row, -len(known) :] = known
        arrays += [x, np.array([label for _, label in part], np.int64)]
    digest = hashlib.sha256(np.ascontiguousarray(arrays[0], "<i8"))
    digest.update(np.ascontiguousarray(arrays[2], "<i8"))
    return Dataset(name, digest.hexdigest(), *arrays)


def _folder(place):
    """``place`` or a folder ``reviews`` in it, whichever has the first file; None if neither."""
    for folder in (place, os.path.join(place, "reviews")):
        if os.path.isfile(os.path.join(folder, FILES[0][0])):
            return folder
    return None


def _find(place):
    folder = _folder(place)
    if folder is None:
        missing = "it has no %s" % FILES[0][0] if os.path.exists(place) else "no such folder"
        raise InputError("%s: %s" % (place, missing))
    return folder


def _read(folder):
    """(name, lists of words of the negative and of the positive sentences) of a folder."""
    sentences, official = [], True
    for name, sha256 in FILES:
        path = os.path.join(folder, name)
        content = content_of(path)
        official = official and hashlib.sha256(content).hexdigest() == sha256
        text = text_of(path, content)
        sentences.append([line.split() for line in text.split("\n") if line.strip()])
        if len(sentences[-1]) <= TEST:
            found = (path, len(sentences[-1]), TEST + 1)
            raise InputError("%s: %d sentences; %d are needed" % found)
    return "film reviews" if official else "film reviews (unofficial, %s)" % folder, sentences


def _download(url):
    """Download the archive and unpack its two files into the cache folder."""
    target = os.path.join(cache_folder(), "reviews")
    with download.temporary_folder(cache_folder()) as folder:
        archive = download.retrieve(url, folder, "archive.tar.gz", None)
        inside = os.path.join(folder, "files")
        os.makedirs(inside)
        try:
            with tarfile.open(archive) as tar:
                for name, sha256 in FILES:
                    member = tar.extractfile("rt-polaritydata/" + name)
                    content = member.read() if member else b""
                    if hashlib.sha256(content).hexdigest() != sha256:
                        raise InputError("%s: %s has another checksum" % (url, name))
                    with open(os.path.join(inside, name), "wb") as file:
                        file.write(content)
        except (tarfile.TarError, zlib.error, KeyError, EOFError, OSError) as error:
            raise InputError("%s: cannot be unpacked: %s" % (url, error))
        download.put_in_place(inside, target)
    return target


def _synthetic():
    """Made-up sentences; two groups of words are commoner in one class than in the other."""
    random = np.random.RandomState(SEED)
    common = ["w%d" % i for i in range(3000)]
    sentences = []
    for label in range(2):
        of_class = []
        for _ in range(5331):
            words = [common[i] for i in random.randint(0, len(common), random.randint(5, 35))]
            words += ["c%d" % (label * 50 + i) for i in random.randint(0, 60, 3)]
            of_class.append([words[i] for i in random.permutation(len(words))])
        sentences.append(of_class)
    return sentences
