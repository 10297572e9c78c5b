"""The canonical weights: names, layouts, and the file that any framework saves and loads."""

from collections import OrderedDict

import numpy as np

from common.host.errors import InputError
from common.host.files import atomic_write

# Convolutions are (out, in, height, width) for cross-correlation; dense weights are (out, in), and
# the first dense layer's inputs are the flattened channels, height, width in that order.
SHAPES = OrderedDict(
    [
        ("conv1.weight", (50, 3, 3, 3)),
        ("conv1.bias", (50,)),
        ("conv2.weight", (50, 50, 3, 3)),
        ("conv2.bias", (50,)),
        ("conv3.weight", (100, 50, 3, 3)),
        ("conv3.bias", (100,)),
        ("conv4.weight", (100, 100, 3, 3)),
        ("conv4.bias", (100,)),
        ("dense1.weight", (512, 6400)),
        ("dense1.bias", (512,)),
        ("dense2.weight", (10, 512)),
        ("dense2.bias", (10,)),
    ]
)

PARAMETERS = sum(int(np.prod(shape)) for shape in SHAPES.values())


def check(weights, source="the weights"):
    """Return ``weights`` as contiguous float32 arrays in canonical order.

    Raises InputError, naming ``source`` and the tensor, where one is missing, not known, misshapen,
    not float32 or not finite.
    """
    for name in weights:
        if name not in SHAPES:
            raise InputError("%s: tensor %r is not one of the model's" % (source, name))
    checked = OrderedDict()
    for name, shape in SHAPES.items():
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


def load(path):
    """Read canonical weights from an ``.npz``; InputError names the file and what is wrong."""
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
    return check(weights, path)


def save(path, weights):
    """Write canonical weights to an ``.npz`` that any framework here can load, atomically."""
    with atomic_write(path) as file:
        np.savez(file, **check(weights))
