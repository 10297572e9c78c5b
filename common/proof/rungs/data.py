"""Rung data: the batches are the same bytes, and train() takes them in the given order."""

import hashlib

import numpy as np

from common.proof.check import Check
from common.proof.rungs.subject import COUNTS


def checks(subject):
    """The shared batches, one of them after load(), and the order in which train() takes them."""
    digest = hashlib.sha256()
    for images, labels in subject.oracle.pairs:
        digest.update(images.tobytes())
        digest.update(subject.task.digested(labels))
    expected = subject.model.batches_sha256
    detail = "the shared batches have sha256 %s, not %s" % (digest.hexdigest(), expected)
    yield Check("sha256 of the shared batches", digest.hexdigest() != expected, 0, detail)
    yield from loaded(subject, *subject.oracle.pairs[0])
    yield from order(subject)


def loaded(subject, images, labels):
    """load() changes neither images nor targets."""
    x, y = subject.load(images, labels)
    x = np.asarray(x)
    whole = subject.task.whole_numbers
    wrong = x.dtype.kind not in "iu" if whole else x.dtype != np.float32
    yield Check("precision", wrong, 0, "load() gives %s" % x.dtype)
    if subject.settings["layout"] == "NHWC":
        x = x.transpose(0, 3, 1, 2)
    y = subject.task.loaded(np.asarray(y))
    pixels = np.size(images) if x.shape != images.shape else np.count_nonzero(x != images)
    detail = "load() changed %d pixels" % pixels
    if pixels and np.array_equal(x, images.swapaxes(2, 3)):
        detail = "load() swapped height and width"
    yield Check("pixels that load() changed", pixels, 0, detail)
    wrong = np.size(labels) if y.shape != labels.shape else np.count_nonzero(y != labels)
    detail = "load() changed %d %s" % (wrong, subject.model.task.targets)
    yield Check("targets that load() changed", wrong, 0, detail)


def order(subject):
    """Each batch has a loss, and the losses are in the order of the batches."""
    losses, _, _ = subject.probe_run()
    batches = 2 + len(COUNTS) + 1  # in two passes
    detail = "train() gave %d losses for %d batches" % (len(losses), batches)
    yield Check("losses missing", abs(batches - len(losses)), 0, detail)
    if len(losses) != batches:
        return
    # A batch's loss is nearly proportional to the number of its observations that have a loss.
    ranks, right = np.argsort(np.argsort(losses[2:-1])), np.argsort(np.argsort(COUNTS))
    wrong = np.count_nonzero(ranks != right) + np.count_nonzero(~np.isfinite(losses))
    detail = "train() takes the batches in another order than they are given, or mixes them"
    if wrong and not np.any(losses[:-1]):
        detail = "all losses are 0"
    elif wrong and are_running_means(np.array(losses[:-1]), subject.seen):
        detail = "a loss is the mean of the pass so far, not that of its batch"
    yield Check("batches out of order", wrong, 0, detail)


def are_running_means(losses, seen):
    """Whether each loss of the first pass is the mean of those so far."""
    counts = np.array((seen, seen) + COUNTS, float)
    part = losses / (counts.cumsum() / np.arange(1, len(counts) + 1))
    return np.ptp(part) < 0.1 * part.mean()
