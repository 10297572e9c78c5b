"""LeNet-5 in CNTK.

Idiom: ``cntk.layers`` in a ``Sequential``, a learner and a ``Trainer``.
Layout: NCHW; the batch axis is not written, so an image is (3, 32, 32).
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: ``Convolution2D`` pads nothing by default, and ``MaxPooling`` has a stride of 1 by
    default.
"""

import cntk as C
from cntk.layers import Convolution2D, Dense, MaxPooling, Sequential

from frameworks.cntk import cnn
from frameworks.cntk.cnn import evaluate, load, predict, train, wait, weights
from frameworks.cntk.mlp import loss, with_adam

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam."""
    return with_adam(cnn.configure(lane, threads, seed))


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    x = C.input_variable((3, 32, 32), name="x")  # needs_gradient is False: none is computed for x
    return Sequential(
        [
            Convolution2D(5, 6, name="conv1"),  # (6, 28, 28)
            MaxPooling((2, 2), strides=2),  # (6, 14, 14)
            C.sigmoid,  # after the pool: the same numbers, a quarter of the work
            Convolution2D(5, 16, name="conv2"),  # (16, 10, 10)
            MaxPooling((2, 2), strides=2),  # (16, 5, 5)
            C.sigmoid,
            Convolution2D(4, 120, activation=C.sigmoid, name="conv3"),  # (120, 2, 2)
            Dense(84, activation=C.sigmoid, name="dense1"),  # (84,), from all three axes
            Dense(10, name="dense2"),  # (10,), no softmax: the loss applies it
        ]
    )(x)
