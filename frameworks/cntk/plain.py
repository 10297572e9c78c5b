"""The CNN in CNTK as a tutorial writes it: ``cntk.layers``, a ``Trainer``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- cntk:plain cntk:best``.
"""

import cntk as C
import numpy as np
from cntk.layers import Convolution2D, Dense, Dropout, MaxPooling, Sequential


def build(learning_rate=0.01):
    """The model: input, target and trainer."""
    x, y = C.input_variable((3, 32, 32)), C.input_variable(10)
    network = Sequential(
        [
            Convolution2D((3, 3), 50, activation=C.relu, pad=True),  # (50, 32, 32)
            Convolution2D((3, 3), 50, activation=C.relu, pad=True),
            MaxPooling((2, 2), strides=(2, 2)),  # (50, 16, 16)
            Dropout(0.25),
            Convolution2D((3, 3), 100, activation=C.relu, pad=True),  # (100, 16, 16)
            Convolution2D((3, 3), 100, activation=C.relu, pad=True),
            MaxPooling((2, 2), strides=(2, 2)),  # (100, 8, 8)
            Dropout(0.25),
            Dense(512, activation=C.relu),  # (512,)
            Dropout(0.5),
            Dense(10),  # (10,)
        ]
    )(x)
    loss = C.cross_entropy_with_softmax(network, y)
    error = C.classification_error(network, y)
    rate = C.learning_parameter_schedule(learning_rate)
    learner = C.momentum_sgd(network.parameters, rate, C.momentum_schedule(0.9))
    return x, y, C.Trainer(network, (loss, error), [learner])


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    x, y, trainer = model
    one_hot = np.eye(10, dtype=np.float32)[labels]
    order = np.random.permutation(len(images))
    for first in range(0, len(images), 64):
        rows = order[first : first + 64]
        trainer.train_minibatch({x: images[rows], y: one_hot[rows]})
    return trainer.previous_minibatch_loss_average
