"""Keras 3's own files, ``.keras`` and ``.weights.h5``, of a network trained by ``fit``.

Idiom: the same calls, whoever trained the network.
Surprise: the callback ``ModelCheckpoint`` writes these in each epoch, and without a monitored
    validation loss it saves the last epoch's, not the best.
"""

from frameworks.keras.native import restore, save

__all__ = ["restore", "save"]
