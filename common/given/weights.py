"""The canonical weights of a model, and the file that any framework saves and loads."""

from collections import OrderedDict

import numpy as np

from common.host.errors import InputError
from common.host.files import atomic_write


def check(model, weights, source="the weights"):
    """Return ``weights`` as contiguous float32 arrays in the order of ``model.shapes``.

    Raises InputError, naming ``source`` and the tensor, where one is missing, not known, misshapen,
    not float32 or not finite.
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
    """Canonical weights of ``model`` from an ``.npz``; InputError names the file and the fault."""
    try:
        # Opened here: NumPy before 1.20 leaves a file open that is no zip.
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            weights = {name: archive[name] for name in archive.files}
    except OSError as error:
        if error.errno is None:  # NumPy's own complaint that the content is neither npy nor npz
            raise InputError("%s: not a weights file (.npz)" % path)
        raise InputError("%s: %s" % (path, error.strerror))
    except Exception:  # bytes that are no honest zip of arrays can raise almost anything
        raise InputError("%s: not a weights file (.npz)" % path)
    return check(model, weights, path)


def save(model, path, weights):
    """Write canonical weights of ``model`` to an ``.npz``, whole or not at all."""
    with atomic_write(path) as file:
        np.savez(file, **check(model, weights))
