"""The original: a small Keras 3 model, as its owner wrote it.

    tox exec -e keras -- python docs/examples/keras-to-jax/original.py MODEL.keras

trains it for some steps and saves it. model.keras, in this folder, was made in this way.
"""

import sys

import keras
import numpy as np
from keras import layers


def network():
    """Scores of a batch of images (N, 16, 16, 3)."""
    return keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            layers.Conv2D(
                8, 3, strides=2, padding="same", use_bias=False, name="conv"
            ),  # (N, 8, 8, 8)
            layers.BatchNormalization(name="norm1"),
            layers.ReLU(name="relu"),
            layers.Reshape((8, 64), name="rows"),  # a sequence of 8 rows
            layers.LSTM(16, name="lstm"),  # (N, 16)
            layers.LayerNormalization(name="norm2"),
            layers.Dense(32, activation="gelu", name="dense1"),
            layers.Dropout(0.25, name="dropout"),
            layers.Dense(5, name="dense2"),
        ]
    )


def batch(n, seed):
    """Images, and labels that depend on them."""
    random = np.random.RandomState(seed)
    x = random.randn(n, 16, 16, 3).astype("float32")
    return x, x.mean((1, 2)).argmax(1) + 2 * (x[:, 0, 0, 0] > 0)


def main(path):
    """Train, and save."""
    keras.utils.set_random_seed(1)
    model = network()
    model.compile(
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.fit(*batch(640, 0), batch_size=64, epochs=5, verbose=0)
    model.save(path)


if __name__ == "__main__":
    main(sys.argv[1])
