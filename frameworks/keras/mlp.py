"""The MLP in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: ``Sequential``, ``compile``, and ``train_on_batch`` over the shared batches.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: Keras computes ``beta2**t`` in float32. In the first steps this leaves about five correct
    digits of ``1 - beta2**t``, and so of the step size.
"""

import keras
from keras import layers

from frameworks.keras import cnn
from frameworks.keras.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam; switches of convolutions are not in force."""
    settings = with_adam(cnn.configure(lane, threads, seed))
    convolutions = settings.keys() & {"autotune", "ynn_convolution", "memory_format"}
    return dict(settings, not_in_force=sorted(convolutions | set(settings["not_in_force"])))


def with_adam(settings):
    """The CNN's settings, and how Keras's Adam differs by convention."""
    settings.pop("pool", None)  # says how the CNN's pools are written
    return dict(settings, adam_epsilon="uncorrected", adam_scalars="float32 corrections")


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
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    network.compile(
        optimizer=keras.optimizers.Adam(
            hp.learning_rate, beta_1=hp.beta1, beta_2=hp.beta2, epsilon=hp.epsilon
        ),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over the batch
        jit_compile=settings["jit"],
    )
    return network
