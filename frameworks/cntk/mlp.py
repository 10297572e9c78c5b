"""The MLP in CNTK.

Idiom: ``cntk.layers`` in a ``Sequential``, a learner and a ``Trainer``.
Layout: an image is (1, 28, 28); ``Dense`` takes all of its axes at once.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: by default CNTK sums the gradient over the batch and divides the learning rate by its
    size. Adam cancels the sum but not the division; ``minibatch_size=IGNORE`` takes the mean
    instead.
"""

import cntk as C
from cntk.layers import Dense, Sequential

from frameworks.cntk import cnn
from frameworks.cntk.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam; switches of convolutions are not in force."""
    settings = with_adam(cnn.configure(lane, threads, seed))
    return dict(settings, not_in_force=["autotune"])


def with_adam(settings):
    """The CNN's settings, and how CNTK's Adam differs by convention."""
    return dict(settings, adam_epsilon="uncorrected", adam_scalars="float32 shares")


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    x = C.input_variable((1, 28, 28), name="x")  # needs_gradient is False: none is computed for x
    return Sequential(
        [
            Dense(1000, activation=C.relu, name="dense1"),  # (1000,), from all three axes
            Dense(1000, activation=C.relu, name="dense2"),  # (1000,)
            Dense(10, name="dense3"),  # (10,), no softmax: the loss applies it
        ]
    )(x)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    blocks = put(network, weights)
    y = C.input_variable(10, name="y")
    criterion = C.cross_entropy_with_softmax(network, y)  # takes scores, not probabilities
    learner = C.adam(
        network.parameters,
        lr=C.learning_parameter_schedule(hp.learning_rate),
        momentum=C.momentum_schedule(hp.beta1),
        unit_gain=True,  # the default, and right here: Adam weighs a new gradient by 1 - beta1
        variance_momentum=C.momentum_schedule(hp.beta2),  # the default is one per sample
        epsilon=hp.epsilon,
        minibatch_size=C.learners.IGNORE,  # the mean gradient of a batch, not the sum
    )
    return network, blocks, y, C.Trainer(network, criterion, learner)
