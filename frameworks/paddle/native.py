"""Paddle's own file of weights, ``.pdparams``.

Idiom: ``paddle.save`` of the ``state_dict``: a pickled dict of NumPy arrays.
Surprise: ``paddle.load`` unpickles whatever the file names, and a pickle may run anything; this one
    may name arrays alone. ``set_state_dict`` only warns of a tensor that is missing or has another
    shape, and leaves it as it was.
"""

import pickle

import numpy as np
import paddle

# What a pickled array names; NumPy 2 moved one of them.
ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("_codecs", "encode"),
}


class Arrays(pickle.Unpickler):
    """Reads a pickle that holds arrays and nothing else."""

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError("it names %s.%s, which is no array" % (module, name))
        return super().find_class(module, name)


def save(model, path):
    """Write the model's weights."""
    paddle.save(model[0].state_dict(), path)


def restore(model, path):
    """Read weights into the model."""
    with open(path, "rb") as file:
        arrays = Arrays(file, encoding="latin1").load()
    for name, tensor in model[0].state_dict().items():
        if list(np.shape(arrays[name])) != tensor.shape:
            shapes = name, np.shape(arrays[name]), tuple(tensor.shape)
            raise ValueError("%s has shape %s, not %s" % shapes)
    model[0].set_state_dict(arrays)
