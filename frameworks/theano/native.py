"""Theano's own file of weights: a pickled list of arrays, ``.pkl``.

Idiom: Theano has no format; its users pickle ``get_value``'s arrays in the order of ``params``.
Surprise: a pickle may run anything. This one may name only what is on a list, and its strings are
    read as Python 2 wrote them: most of these files are that old.
"""

import pickle

import numpy as np

# A pickled array names its constructors, its types and, in protocol 2, its bytes' encoder.
ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
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
    arrays = [shared.get_value() for shared in model[2].values()]
    with open(path, "wb") as file:
        pickle.dump(arrays, file, protocol=2)


def restore(model, path):
    """Read weights into the model."""
    with open(path, "rb") as file:
        arrays = Arrays(file, encoding="latin1").load()
    if len(arrays) != len(model[2]):
        raise ValueError("it holds %d arrays, not %d" % (len(arrays), len(model[2])))
    for (name, shared), array in zip(model[2].items(), arrays):
        old = shared.get_value(borrow=True)
        if np.shape(array) != old.shape:
            raise ValueError("%s has shape %s, not %s" % (name, np.shape(array), old.shape))
        shared.set_value(array)
