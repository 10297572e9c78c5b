"""A convolution's kernel that one side has flipped or turned, if a side is too small to fit it.

Both sides together have twice as many places: one kernel must make both results.
"""

import itertools

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import convolution
from common.compare.layers import docs as pages
from common.compare.layers.layer import full, size

NEAR = 2  # earlier images that are tried
KERNELS = (3, 5, 7)
SPARE = 1.2  # equations for each unknown
EXACT = 1e-5  # of the results' spread: what a fit may leave
EXPLAINED = 0.1  # of the difference: more than that must not be left
# Changing the patches that a kernel sees has the same effect as changing the kernel.
WAYS = (
    ("flipped along height and width", lambda seen: seen[..., ::-1, ::-1]),
    ("with height and width swapped", lambda seen: seen.swapaxes(-1, -2)),
    ("turned by 90 degrees", lambda seen: np.rot90(seen, -1, (-2, -1))),
)


def explain(both):
    """An ``Explanation`` if one kernel, changed in one of the ways, makes both results."""
    if both.ours.ndim != 4:
        return None
    inputs = [x for x in both.inputs if len(x.shape) == 4 and len(full(x)) == len(both.ours)]
    for x, last in itertools.product(inputs[:NEAR], (False, True)):
        arrays = full(x).astype(np.float64), both.ours, both.theirs
        images, ours, theirs = (np.moveaxis(y, 3, 1) if last else y for y in arrays)
        for constants in _options(images.shape, ours.shape):
            name = _way(images, ours, theirs, constants)
            if name is not None:
                says = "%s: B's kernel is A's, %s" % (convolution.words(constants), name)
                return Explanation(says, pages.FLIPPED)
    return None


def _options(images, results):
    """Yield the constants of square convolutions from images to results of these sizes."""
    sizes = images[2], results[2]
    for kernel, stride in itertools.product(KERNELS, convolution.case_strides(*sizes)):
        if images[1] * kernel**2 <= convolution.UNKNOWNS:
            for low in convolution.paddings("convolution", kernel, stride, sizes):
                yield dict(kind="convolution", kernel=kernel, stride=stride, padding=low)


def _way(images, ours, theirs, constants):
    """The first of the ways that holds, in words; None if none does."""
    kernel, channels = constants["kernel"], images.shape[1]
    places = ours[:, 0].size
    count = int(SPARE * (channels * kernel**2 + 2) / 2) + 1  # of each side
    if places < count:
        return None
    try:
        seen = convolution.patches(images, constants, ours.shape[2:])
    except ValueError:  # an image too small for this stride
        return None
    some = np.random.RandomState(0).permutation(places)[:count]
    seen = seen.reshape(places, channels, kernel, kernel)[some]
    results = [y[:, : convolution.CHANNELS].transpose(0, 2, 3, 1) for y in (ours, theirs)]
    results = [y.reshape(places, -1)[some] for y in results]
    results = [y - y.mean(0) for y in results]
    # If both results were alike, a symmetric kernel would make them, with fewer equations.
    most = min(EXACT * min(map(size, results)), EXPLAINED * size(results[1] - results[0]))
    results = np.concatenate(results)
    for name, way in WAYS:
        sides = [x.reshape(count, -1) for x in (seen, way(seen))]
        table = np.concatenate([x - x.mean(0) for x in sides])  # each side may have its own bias
        weights = np.linalg.lstsq(table, results, rcond=1e-9)[0]
        if size(results - np.dot(table, weights)) <= most:
            return name
    return None
