"""Lane best's max-pool on JAX.

Idiom: a subclass of Keras's layer with a ``call`` of its own.
Surprise: on a CPU, XLA is slow at the gradient of a pooling window.
"""

import keras
from keras import layers


class ComparisonPooling2D(layers.MaxPooling2D):
    """A pool of 2x2 on NHWC images, written as comparisons of pixels."""

    def call(self, x):
        """The greatest of each four pixels; of equal ones the first gets the gradient."""
        left, right = x[:, :, 0::2], x[:, :, 1::2]
        x = keras.ops.where(left >= right, left, right)  # (N, H, W/2, C)
        top, bottom = x[:, 0::2], x[:, 1::2]
        return keras.ops.where(top >= bottom, top, bottom)  # (N, H/2, W/2, C)


def max_pooling(settings):
    """The class of the pools: Keras's own unless the settings ask for comparisons."""
    return ComparisonPooling2D if settings.get("pool") == "comparisons" else layers.MaxPooling2D
