"""A model's canonical weights, and the file in which every framework can save and load them."""

from collections import OrderedDict

import numpy as np

from common.system import array_files
from common.system.errors import InputError


def check(model, weights, source="the weights"):
    """Return ``weights`` as contiguous float32 arrays in the order of ``model.shapes``.

    InputError names ``source`` and the tensor if one is missing, unknown, misshapen, not float32 or
    not finite.
    """
    for name in weights:
        if name not in model.shapes:
            raise InputError("%s: tensor %r is not one of the %s's" % (source, name, model.name))
    checked = OrderedDict()
    for name, shape in model.shapes.items():
        if name not in weights:
            raise InputError("%s: tensor %r is missing" % (source, name))
        array = np.asarray(weights[name])
        if array.shape != shape:
            raise InputError(
                "%s: tensor %r has shape %s, not %s" % (source, name, array.shape, shape)
            )
        if array.dtype != np.float32:
            raise InputError("%s: tensor %r is %s, not float32" % (source, name, array.dtype))
        if not np.isfinite(array).all():
            raise InputError("%s: tensor %r holds values that are not finite" % (source, name))
        checked[name] = np.ascontiguousarray(array)
    return checked


def load(model, path):
    """Canonical weights of ``model`` from an ``.npz`` or a ``.safetensors``.

    InputError names the file and the fault.
    """
    return check(model, array_files.read(path, model.shapes, "tensor of the " + model.name), path)


def save(model, path, weights):
    """Write canonical weights of ``model`` to such a file, completely or not at all."""
    array_files.write(path, check(model, weights))
