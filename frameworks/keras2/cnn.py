"""The CNN in Keras 2, from when Keras ran on other libraries: here on CNTK or on Theano.

Idiom: ``Sequential``, ``compile``, ``train_on_batch``; KERAS_BACKEND chooses the library, whose
    switches and differences are in ``backends.py``.
Layout: NCHW, Keras's channels_first.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: with channels_first, ``Flatten`` moves the channels last, unless it is given
    ``data_format="channels_last"``, which leaves the axes alone. And Theano rotates kernels by
    180 degrees: the same weights are another network.
"""

import numpy as np
from keras import backend as K
from keras.layers import Conv2D, Dense, Dropout, Flatten, Lambda
from keras.models import Sequential
from keras.optimizers import SGD

from frameworks.keras2.backends import (
    compile_options,
    crossentropy,
    max_pool,
    oriented,
    relu,
    set_dropout_seed,
    switch,
)

LAYERS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
NAMES = [layer + kind for layer in LAYERS for kind in (".weight", ".bias")]


def configure(lane, threads, seed):
    """Set layout, precision and the backend's switches; return the settings in force."""
    K.set_image_data_format("channels_first")  # the backends' own; else each layer transposes
    K.set_floatx("float32")
    return {
        "device": "cpu",
        "layout": "NCHW",
        "precision": K.floatx(),
        "seed": seed,
        "not_in_force": [],
        **switch(lane, threads),
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) as they are, class numbers one-hot (n, 10)."""
    return images, np.eye(10, dtype=np.float32)[labels]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    seeds = np.random.RandomState(settings["seed"]).randint(1, 2**30, 3).tolist()
    set_dropout_seed(seeds[0])
    return Sequential(
        [
            Conv2D(50, 3, padding="same", activation=relu, input_shape=(3, 32, 32)),
            # (N, 50, 32, 32)
            Conv2D(50, 3, padding="same", activation=relu),
            Lambda(max_pool, (50, 16, 16)),  # (N, 50, 16, 16)
            Dropout(drop1, seed=seeds[0]),
            Conv2D(100, 3, padding="same", activation=relu),  # (N, 100, 16, 16)
            Conv2D(100, 3, padding="same", activation=relu),
            Lambda(max_pool, (100, 8, 8)),  # (N, 100, 8, 8)
            Dropout(drop2, seed=seeds[1]),
            Flatten(data_format="channels_last"),  # (N, 6400), C, H, W: leaves the axes as they are
            Dense(512, activation=relu),  # (N, 512)
            Dropout(drop3, seed=seeds[2]),
            Dense(10),  # (N, 10), no softmax: the loss applies it
        ]
    )


def to_keras(w):
    """Keras's layout of a canonical tensor: (height, width, in, out) and (in, out)."""
    w = oriented(w)
    return np.ascontiguousarray(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    network.set_weights([to_keras(weights[name]) for name in NAMES])
    optimizer = SGD(lr=hp.learning_rate, momentum=hp.momentum, nesterov=False)
    network.compile(loss=crossentropy, optimizer=optimizer, **compile_options(settings))
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    for x, y in batches:
        yield model.train_on_batch(x, y)  # dropout on;  (N, 3, 32, 32), (N, 10)


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    return model.predict(x, batch_size=64)  # dropout off


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name, back from (height, width, in, out) and (in, out)."""
    found = {}
    for name, w in zip(NAMES, model.get_weights()):
        w = w.transpose(3, 2, 0, 1) if w.ndim == 4 else w.T  # (out, in, height, width)
        found[name] = np.array(oriented(w), order="C")
    return found


def wait(model):
    """Return at once: ``train_on_batch`` has read the loss."""
