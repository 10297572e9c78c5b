"""Tiny Shakespeare as numbers of characters: find or download it, check it, cut it into sequences.

The text that char-rnn and nanoGPT train on. The first nine tenths are trained on, the rest is held
out. ``load`` cuts windows at random places; ``load_speeches`` takes whole speeches, padded.
"""

import hashlib
import os

import numpy as np

from common.data import download
from common.data.dataset import SYNTHETIC, Dataset, content_of, text_of, warn_of_synthetic
from common.system.errors import InputError
from common.system.files import cache_folder

URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
FILE = "tinyshakespeare.txt"
FALLBACK = "synthetic (no Shakespeare found, no network)"

# The 65 characters of the text; a character's number is its place here.
CHARACTERS = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CONTEXT = 64  # characters of a sequence
WINDOWS = 24000  # of the training text
SEED = 1337
IGNORED = -100  # the target of padding, which does not count


def load(where="auto", url=URL):
    """Windows of the text at ``where``: "synthetic", "auto", a folder with the file, or the file.

    A sequence is (CONTEXT,) int64; its target at each place is the next character. Training windows
    begin at random places; held-out windows follow each other. "auto" looks in $ROSETTA_DATA and
    the cache folder, then downloads from ``url``; without a network it falls back to "synthetic"
    and prints a warning. InputError if a folder, the file or the download cannot be used.
    """
    name, train, held_out = _split(where, url)
    starts = np.random.RandomState(SEED).randint(0, len(train) - CONTEXT, WINDOWS)
    further = np.arange(0, len(held_out) - CONTEXT, CONTEXT)
    return _dataset(
        name,
        _windows(train, starts),
        _windows(train, starts + 1),
        _windows(held_out, further),
        _windows(held_out, further + 1),
    )


def load_speeches(where="auto", url=URL):
    """As ``load``, but a sequence is a speech, or its first CONTEXT characters.

    A shorter speech is padded with newlines. Targets are IGNORED where there is no next character
    of the speech.
    """
    name, train, held_out = _split(where, url)
    return _dataset(name, *(_speeches(train) + _speeches(held_out)))


def decode(numbers):
    """The text of some characters' numbers."""
    return "".join(CHARACTERS[number] for number in numbers)


def continuation(scores, steps):
    """The likeliest tokens (n, steps // 2) after the first half of texts of ``steps`` tokens.

    ``scores`` (n, steps + steps // 2, words) are what ``predict`` gives: those of each place of the
    whole text, then those of the tokens that were generated. The first half's last place gives the
    first new token.
    """
    half = steps // 2
    places = np.r_[half - 1, steps : steps + half - 1]
    return scores[:, places].argmax(-1)


def _dataset(name, *arrays):
    digest = hashlib.sha256(np.ascontiguousarray(arrays[0], "<i8"))
    digest.update(np.ascontiguousarray(arrays[3], "<i8"))
    return Dataset(name, digest.hexdigest(), *arrays)


def _windows(numbers, starts):
    return numbers[starts[:, None] + np.arange(CONTEXT)]


def _speeches(numbers):
    """(sequences, targets) of each speech of at least two characters; an empty line ends one."""
    speeches = [speech for speech in decode(numbers).split("\n\n") if len(speech) > 1]
    if not speeches:
        raise InputError("the text has no speech of two characters")
    places = {character: number for number, character in enumerate(CHARACTERS)}
    x = np.zeros((len(speeches), CONTEXT), np.int64)
    y = np.full((len(speeches), CONTEXT), IGNORED, np.int64)
    for row, speech in enumerate(speeches):
        encoded = [places[character] for character in speech[: CONTEXT + 1]]
        x[row, : len(encoded[:CONTEXT])] = encoded[:CONTEXT]
        y[row, : len(encoded) - 1] = encoded[1:]
    return x, y


def _split(where, url):
    """(name, training numbers, held-out numbers) of the text at ``where``."""
    if where == "synthetic":
        name, text = SYNTHETIC, _synthetic()
    elif where != "auto":
        name, text = _read(_find(where))
    elif os.environ.get("ROSETTA_DATA") and _file(os.environ["ROSETTA_DATA"]):
        name, text = _read(_file(os.environ["ROSETTA_DATA"]))
    elif _file(cache_folder()):
        name, text = _read(_file(cache_folder()))
    else:
        try:
            name, text = _read(_download(url))
        except download.NoNetwork as error:
            warn_of_synthetic("tiny Shakespeare", FILE, error)
            name, text = FALLBACK, _synthetic()
    numbers = encode(text, name)
    cut = len(numbers) * 9 // 10
    if len(numbers) - cut < 2 * CONTEXT:
        needed = 20 * CONTEXT
        raise InputError("%s: %d characters; %d are needed" % (name, len(numbers), needed))
    return name, numbers[:cut], numbers[cut:]


def encode(text, name):
    """Numbers (n,) int64 of a text; InputError names the first character that is not known."""
    places = {character: number for number, character in enumerate(CHARACTERS)}
    try:
        return np.array([places[character] for character in text], np.int64)
    except KeyError as error:
        line = text[: text.index(error.args[0])].count("\n") + 1
        message = (
            "%s: line %d has the character %r, which is not one of the %d of Shakespeare's text"
        )
        raise InputError(message % (name, line, error.args[0], len(CHARACTERS)))


def _file(place):
    """``place`` itself, or the file in it; None if there is none."""
    for path in (place, os.path.join(place, FILE), os.path.join(place, "shakespeare", FILE)):
        if os.path.isfile(path):
            return path
    return None


def _find(place):
    path = _file(place)
    if path is None:
        missing = "it has no %s" % FILE if os.path.exists(place) else "no such file or folder"
        raise InputError("%s: %s" % (place, missing))
    return path


def _read(path):
    content = content_of(path)
    text = text_of(path, content)
    sha256 = hashlib.sha256(content).hexdigest()
    official = sha256 == SHA256
    return "tiny shakespeare" if official else "%s (sha256 %s)" % (path, sha256[:12]), text


def _download(url):
    """Download the file into the cache folder."""
    target = os.path.join(cache_folder(), "shakespeare")
    with download.temporary_folder(cache_folder()) as folder:
        download.retrieve(url, folder, FILE, "sha256:" + SHA256)
        download.put_in_place(folder, target)
    return os.path.join(target, FILE)


def _synthetic():
    """A text of made-up words in speeches, the same on every machine."""
    random = np.random.RandomState(SEED)
    letters = np.array(list(CHARACTERS[39:]))  # small ones
    words = ["".join(random.choice(letters, random.randint(1, 8))) for _ in range(300)]
    speeches = []
    for _ in range(3000):
        chosen = [words[i] for i in random.randint(0, len(words), random.randint(2, 20))]
        speeches.append(chosen[0].upper() + ":\n" + " ".join(chosen[1:]) + ".")
    return "\n\n".join(speeches)
