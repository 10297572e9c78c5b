"""The small CNN on MNIST in Keras 3, on whichever backend KERAS_BACKEND names.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch;
    NHWC on a CPU also if TensorFlow lacks oneDNN.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: Adam's ``epsilon`` is 1e-7 by default, where the paper and most others have 1e-8.
"""

import keras
from keras import layers

from frameworks.keras import cnn
from frameworks.keras.cnn import evaluate, load, predict, train, wait, weights
from frameworks.keras.mlp import loss, with_adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam."""
    return with_adam(cnn.configure(lane, threads, seed))


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
