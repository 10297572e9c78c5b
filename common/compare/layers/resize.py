"""Resized images: nearest, linear or cubic, corners aligned or not, filtered or not."""

from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers.layer import Case, images, size

DOCS = pages.RESIZE
CHANNELS = 4
MODES = ("nearest", "linear", "cubic, a = -0.75", "cubic, a = -0.5")
GRIDS = ("half pixels", "aligned corners", "from the corner")


def cases(layer):
    """The nearest earlier images with as many channels and another size."""
    for x, before, after, _ in images(layer):
        if before.shape[2:] != after.shape[2:]:
            before, after = (part[:8, :CHANNELS].astype(np.float64) for part in (before, after))
            yield Case(layer, [x], x=before, y=after)


def options(case):
    """Every mode on every grid; with and without a filter if the image becomes smaller."""
    smaller = case.y.shape[2] < case.x.shape[2]
    for mode in MODES:
        for grid in GRIDS:
            for antialias in (False, True) if smaller and mode != "nearest" else (False,):
                yield OrderedDict(mode=mode, grid=grid, antialias=antialias)


def off(case, constants):
    """The distance."""
    (height, width), (tall, wide) = case.x.shape[2:], case.y.shape[2:]
    rows = matrix(height, tall, **constants)
    columns = matrix(width, wide, **constants)
    made = np.matmul(np.matmul(rows, case.x), columns.T)
    return size(made - case.y)


def matrix(source, target, mode, grid, antialias):
    """(target, source): the weight of each old place in each new one."""
    new = np.arange(target)
    scale = source / float(target)
    if grid == "aligned corners":
        at = new * (source - 1.0) / max(1, target - 1)
    else:
        at = (new + 0.5) * scale - 0.5 if grid == "half pixels" else new * scale
    if mode == "nearest":
        place = (
            np.rint(at)
            if grid == "aligned corners"
            else np.floor(at + 0.5 * (grid == "half pixels"))
        )
        return np.eye(source)[np.clip(place, 0, source - 1).astype(int)]
    wide = max(1.0, scale) if antialias else 1.0
    reach = 2 if mode == "linear" else 4
    taps = np.arange(-int(reach * wide), int(reach * wide) + 1)
    places = np.floor(at)[:, None] + taps
    weights = _kernel(np.abs(places - at[:, None]) / wide, mode)
    if antialias:
        weights = weights * ((places >= 0) & (places < source))
    weights = weights / weights.sum(1, keepdims=True)
    result = np.zeros((target, source))
    for column in range(len(taps)):
        index = np.clip(places[:, column], 0, source - 1).astype(int)
        np.add.at(result, (new, index), weights[:, column])
    return result


def _kernel(x, mode):
    if mode == "linear":
        return np.maximum(0, 1 - x)
    a = -0.75 if mode.endswith("0.75") else -0.5
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def words(constants):
    """The mode in words."""
    says = "%s resize, %s" % (constants["mode"], constants["grid"])
    return says + (", with antialiasing" if constants["antialias"] else "")
