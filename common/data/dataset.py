"""The type of a data set; take a part of one."""

import hashlib
import sys
from collections import namedtuple

import numpy as np

from common.system.errors import InputError

SYNTHETIC = "synthetic"

Dataset = namedtuple("Dataset", "name sha256 train_images train_labels test_images test_labels")
Dataset.__doc__ = """Images (n, channels, height, width) uint8 and labels (n,) int64 in 0..9.

Sequences are inputs and targets, both (n, steps, features) float32. For figures, the labels are
(n, joints, 3) float32: x, y and whether the joint is visible.

name: as in results; "cifar10" and "mnist" only if every file has its published checksum.
sha256: the hash of the pixels of the whole set, training then test, even if only a part is used;
    the sine wave's and the figures' cover targets too.
"""


def take(dataset, train_images=None, test_images=None, noun="images"):
    """The first ``train_images`` and ``test_images`` of a data set; None takes all.

    InputError for fewer than one, or more than there are.
    """
    counts = []
    for kind, count, labels in (
        ("training", train_images, dataset.train_labels),
        ("test", test_images, dataset.test_labels),
    ):
        count = len(labels) if count is None else count
        if not 1 <= count <= len(labels):
            raise InputError(
                "%d %s %s were asked for; %s has 1 to %d"
                % (count, kind, noun, dataset.name, len(labels))
            )
        counts.append(count)
    train, test = counts
    return dataset._replace(
        train_images=dataset.train_images[:train],
        train_labels=dataset.train_labels[:train],
        test_images=dataset.test_images[:test],
        test_labels=dataset.test_labels[:test],
    )


def warn_of_synthetic(name, files, error):
    """Print a conspicuous warning on stderr that synthetic data replaces ``name``.

    files: what a folder for $ROSETTA_DATA needs. error: why the download failed.
    """
    line = "*" * 80
    print(
        "%s\nNo %s was found and it cannot be downloaded:\n%s\n"
        "Going on with SYNTHETIC data. Results are not %s results.\n"
        "Set ROSETTA_DATA to a folder with %s to use the real data.\n%s"
        % (line, name, error, name, files, line),
        file=sys.stderr,
    )


def content_of(path):
    """The bytes of a file; InputError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError("%s: cannot be read: %s" % (path, error.strerror))


def text_of(path, content):
    """The text of these bytes of a file; InputError if they are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("%s: byte %d is not UTF-8" % (path, error.start))


def sha256_of(train_images, test_images):
    """sha256 of the pixels of the whole set, training then test."""
    digest = hashlib.sha256(np.ascontiguousarray(train_images))
    digest.update(np.ascontiguousarray(test_images))
    return digest.hexdigest()
