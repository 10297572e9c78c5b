"""The MLP in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: rows of 784 pixels.
Adam: both moments corrected for their bias, but epsilon is added to the root of the second before
    that is corrected, as in the paper's remark on efficiency.
Surprise: Keras raises beta2 to the number of the step in float32, so that 1 - beta2 is right to
    four digits in the first steps, and so is the step size.
"""

import keras
from keras import layers

from frameworks.keras import cnn
from frameworks.keras.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN; and what Keras's Adam adds epsilon to."""
    return dict(cnn.configure(lane, threads, seed), adam_epsilon="uncorrected")


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return keras.Sequential(
        [
            keras.Input((1, 28, 28) if settings["layout"] == "NCHW" else (28, 28, 1)),
            layers.Flatten(name="flatten"),  # (N, 784)
            layers.Dense(1000, activation="relu", name="dense1"),  # (N, 1000)
            layers.Dense(1000, activation="relu", name="dense2"),  # (N, 1000)
            layers.Dense(10, name="dense3"),  # (N, 10), no softmax: the loss applies it
        ]
    )


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights put in place."""
    put(network, weights)
    network.compile(
        optimizer=keras.optimizers.Adam(hp.learning_rate, hp.beta1, hp.beta2, hp.epsilon),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        jit_compile=settings["jit"],
    )
    return network
