"""The small CNN on MNIST in Keras 3, on whichever backend KERAS_BACKEND names.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch.
Adam: both moments corrected for their bias, but epsilon is added to the root of the second before
    that is corrected, as in the paper's remark on efficiency.
Surprise: with batches of eight a step is mostly the cost of calling Keras, not arithmetic.
"""

import keras
from keras import layers

from frameworks.keras.cnn import evaluate, load, predict, train, wait, weights
from frameworks.keras.mlp import configure, loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return keras.Sequential(
        [
            keras.Input((1, 28, 28) if settings["layout"] == "NCHW" else (28, 28, 1)),
            layers.Conv2D(10, 3, padding="same", name="conv1"),  # (N, 10, 28, 28)
            layers.MaxPooling2D(2),  # (N, 10, 14, 14)
            layers.ReLU(),  # after the pool: the same numbers, a quarter of the work
            layers.Flatten(name="flatten"),  # (N, 1960), in the order H, W, C in both layouts
            layers.Dense(100, activation="relu", name="dense1"),  # (N, 100)
            layers.Dense(10, name="dense2"),  # (N, 10), no softmax: the loss applies it
        ]
    )
