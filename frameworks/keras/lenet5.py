"""LeNet-5 in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: NCHW; the best lane takes NHWC, Keras's default, but not on PyTorch;
    NHWC on a CPU also if TensorFlow lacks oneDNN.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: ``padding="valid"``, the default, means none.
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
            keras.Input((3, 32, 32) if settings["layout"] == "NCHW" else (32, 32, 3)),
            layers.Conv2D(6, 5, name="conv1"),  # (N, 6, 28, 28)
            layers.MaxPooling2D(2),  # (N, 6, 14, 14)
            layers.Activation("sigmoid"),  # after the pool: the same numbers, a quarter of the work
            layers.Conv2D(16, 5, name="conv2"),  # (N, 16, 10, 10)
            layers.MaxPooling2D(2),  # (N, 16, 5, 5)
            layers.Activation("sigmoid"),
            layers.Conv2D(120, 4, activation="sigmoid", name="conv3"),  # (N, 120, 2, 2)
            layers.Flatten(name="flatten"),  # (N, 480), in the order H, W, C in both layouts
            layers.Dense(84, activation="sigmoid", name="dense1"),  # (N, 84)
            layers.Dense(10, name="dense2"),  # (N, 10), no softmax: the loss applies it
        ]
    )
