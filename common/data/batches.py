"""The shared batches: the same observations in the same order for every framework."""

import numpy as np

from common.system.errors import InputError


def as_float(observations):
    """Float32 images in [0, 1] from bytes; sequences are float32 already."""
    if observations.dtype == np.uint8:
        return observations.astype(np.float32) / 255
    return observations


def order(n, batch_size, seed, epoch, noun="images"):
    """The observations of each step of an epoch, as int64 indices (steps, batch_size).

    Each of the ``n`` observations occurs at most once; the last partial batch is dropped.
    InputError if there are fewer observations than one batch. ``RandomState``, because its streams
    are frozen: every NumPy gives the same order.
    """
    if n < batch_size:
        raise InputError("%d training %s are fewer than one batch of %d" % (n, noun, batch_size))
    steps = n // batch_size
    shuffled = np.random.RandomState([seed, epoch]).permutation(n).astype(np.int64)
    return shuffled[: steps * batch_size].reshape(steps, batch_size)


def batches(x, y, batch_size, seed, epoch):
    """The (x, y) of each step of an epoch, taken by ``order`` along the first axis."""
    for indices in order(len(y), batch_size, seed, epoch):
        yield x[indices], y[indices]
