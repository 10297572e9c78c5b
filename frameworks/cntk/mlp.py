"""The MLP in CNTK.

Idiom: ``cntk.layers`` in a ``Sequential``, a learner and a ``Trainer``.
Layout: an image is (1, 28, 28); ``Dense`` takes all of its axes at once.
Adam: both moments corrected for their bias, but epsilon is added to the root of the second before
    that is corrected, as in the paper's remark on efficiency.
Surprise: beta2 is called ``variance_momentum``, and its default is one per sample, 0.9999986, which
    in a batch of 720 makes 0.999.
"""

import cntk as C
from cntk.layers import Dense, Sequential

from frameworks.cntk import cnn
from frameworks.cntk.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN; and what CNTK's Adam adds epsilon to."""
    return dict(cnn.configure(lane, threads, seed), adam_epsilon="uncorrected")


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
    """The model: network, loss and optimiser, with the initial weights put in place."""
    blocks = put(network, weights)
    y = C.input_variable(10, name="y")
    criterion = C.cross_entropy_with_softmax(network, y)  # takes scores, not probabilities
    learner = C.adam(
        network.parameters,
        lr=C.learning_parameter_schedule(hp.learning_rate),  # for the mean gradient of a batch
        momentum=C.momentum_schedule(hp.beta1),
        unit_gain=True,  # what the paper has: 1 - beta1 of each gradient
        variance_momentum=C.momentum_schedule(hp.beta2),
        epsilon=hp.epsilon,
        minibatch_size=C.learners.IGNORE,
    )
    return network, blocks, y, C.Trainer(network, criterion, learner)
