"""PyTensor's own file of weights: arrays by the names of their shared variables, ``.pytensor.npz``.

Idiom: PyTensor has no format; a shared variable gives its array with ``get_value``, and NumPy's
    ``savez`` writes it under its name.
Surprise: a compiled function can be pickled, weights and all, but such a file runs code when it is
    read, and needs the same release of PyTensor. An archive is read without pickles.
"""

import numpy as np


def save(model, path):
    """Write the model's weights."""
    np.savez(path, **{name: shared.get_value() for name, shared in model[2].items()})


def restore(model, path):
    """Read weights into the model."""
    with np.load(path, allow_pickle=False) as arrays:
        for name, shared in model[2].items():
            array, shape = arrays[name], shared.get_value(borrow=True).shape
            if array.shape != shape:
                raise ValueError("%s has shape %s, not %s" % (name, array.shape, shape))
            shared.set_value(array)
