"""A convolution's kernel that one side has flipped or turned, if a side is too small to fit it.

Both sides together have twice as many places: one kernel must make both results.
"""

import itertools

import numpy as np

from common.compare.between.both import Explanation
from common.compare.layers import changed_kernel, convolution
from common.compare.layers import docs as pages
from common.compare.layers.layer import full

NEAR = 2  # earlier images that are tried
KERNELS = (3, 5, 7)


def explain(both):
    """An ``Explanation`` if one kernel, changed in one of the ways, makes both results."""
    if both.ours.ndim != 4:
        return None
    inputs = [x for x in both.inputs if len(x.shape) == 4 and len(full(x)) == len(both.ours)]
    for x, last in itertools.product(inputs[:NEAR], (False, True)):
        arrays = full(x).astype(np.float64), both.ours, both.theirs
        images, ours, theirs = (np.moveaxis(y, 3, 1) if last else y for y in arrays)
        for constants in _options(images.shape, ours.shape):
            name = changed_kernel.shared(images, ours, theirs, constants)
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
