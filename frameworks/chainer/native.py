"""Chainer's own files of weights: ``.npz``, and ``.h5`` where h5py is installed.

Idiom: ``serializers``; a parameter's name in the file is its path in the chain, ``conv1/W``.
Surprise: ``load_npz`` unpickles objects from the file, and so runs any code that a stranger
    put there. ``NpzDeserializer`` takes a file that was opened without pickles.
"""

import numpy as np
from chainer import serializers


def save(model, path):
    """Write the model's weights."""
    serializers.save_npz(path, model[0])


def restore(model, path):
    """Read weights into the model; the library would repeat numbers to fit a larger shape."""
    with np.load(path, allow_pickle=False) as archive:
        for name, parameter in model[0].namedparams():
            if archive[name[1:]].shape != parameter.shape:
                raise ValueError("%s has the shape %s" % (name, archive[name[1:]].shape))
        serializers.NpzDeserializer(archive).load(model[0])
