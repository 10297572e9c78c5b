"""Convolutions with a recorded kernel, which may be too wide to be fitted."""

import itertools

import numpy as np

from common.compare.layers import changed_kernel, convolution
from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, full, size

GREEDY = True  # the first option that fits is taken
MOST = 4  # kernels of the right size that are tried, those of the most similar name first
OUTPUTS = 4  # channels of the output that are recomputed
PLACES = 64  # of the output that are recomputed
FEWEST = 8  # places: a bias for each channel must not explain them


def cases(layer):
    """Recorded kernels of the right size, each with the nearest images that it fits."""
    weights, y = layer.weights(4), layer.output
    for x, between in convolution.inputs(layer) if weights else ():
        some = max(1, convolution.VALUES * x.shape[0] // x.size)
        for last in (False, True):
            arrays = [full(array)[:some] for array in (x, y)]
            images, results = (np.moveaxis(z, 3, 1) if last else z for z in arrays)
            kernels = (_fitting(full(weight), images, results) for weight in weights)
            data = dict(x=images.astype(np.float64), y=results, between=between, fed={})
            for kernel in itertools.islice((k for k in kernels if k is not None), MOST):
                yield Case(layer, [x], kernel=kernel, **data)


def _fitting(weight, images, results):
    """A weight as (outputs, inputs of a group, height, width); None if it does not fit."""
    for axes in ((0, 1, 2, 3), (3, 2, 0, 1)):
        kernel = weight.transpose(axes)
        groups, rest = divmod(images.shape[1], kernel.shape[1])
        square = kernel.shape[2] == kernel.shape[3]
        if square and len(kernel) == results.shape[1] and not rest and not len(kernel) % groups:
            return kernel
    return None


def options(case):
    """Strides, dilations and paddings that give images of the output's size; changed kernels."""
    kernel = case.kernel.shape[2]
    sizes = convolution.fed(case, case.between).shape[2], case.y.shape[2]
    groups = case.x.shape[1] // case.kernel.shape[1]
    for way in [None] + [name for name, _ in changed_kernel.WAYS] if kernel > 1 else [None]:
        for stride in convolution.case_strides(*sizes):
            for dilation in (1,) if stride > 1 or kernel == 1 else convolution.DILATIONS:
                wide = (kernel - 1) * dilation + 1
                for low in convolution.paddings("convolution", wide, stride, sizes):
                    form = (kernel, stride, low, dilation, groups)
                    constants = convolution.constants_of(case, "convolution", *form)
                    constants.update({"changed": way} if way else {})
                    yield constants


def off(case, constants):
    """The distance, once a bias of each channel is fitted."""
    kernel = case.kernel[: len(case.kernel) // constants.get("groups", 1)][:OUTPUTS]
    outputs, inputs, height = kernel.shape[:3]
    if height != constants["kernel"] or inputs * constants.get("groups", 1) != case.x.shape[1]:
        return np.inf
    arrays = convolution.fed(case, constants)[:, :inputs], case.y[:, :outputs]
    x, y = convolution.part(*arrays, constants, PLACES)
    try:
        seen = convolution.patches(x, constants, y.shape[2:])
    except ValueError:  # an image too small for this stride
        return np.inf
    seen = seen.reshape((-1,) + kernel.shape[1:])[:PLACES]
    seen = dict(changed_kernel.WAYS).get(constants.get("changed"), lambda seen: seen)(seen)
    target = y.transpose(0, 2, 3, 1).reshape(-1, outputs)[:PLACES]
    if len(target) < FEWEST:
        return np.inf
    left = target - np.dot(seen.reshape(len(seen), -1), kernel.reshape(outputs, -1).T)
    return size(left - left.mean(0))


def words(constants):
    """The convolution in words."""
    changed = ", the kernel %s" % constants["changed"] if "changed" in constants else ""
    return convolution.words(constants) + changed


def docs(a, b):
    """The page's anchor."""
    return convolution.docs(a, b) if a.get("changed") == b.get("changed") else pages.FLIPPED
