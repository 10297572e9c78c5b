"""The hyperparameters that every framework trains with."""

from collections import namedtuple

Hyperparameters = namedtuple("Hyperparameters", "batch_size learning_rate momentum dropout")
Hyperparameters.__doc__ = """What defines a training run besides data, weights and epochs.

batch_size: observations per step.
learning_rate: SGD step size; the update is v <- momentum v - learning_rate g, w <- w + v.
momentum: classical (Polyak) momentum, never Nesterov's, never scaled by 1 - momentum.
dropout: fraction *dropped* after the first pool, the second pool and the first dense layer.
"""

CIFAR10 = Hyperparameters(
    batch_size=64, learning_rate=0.01, momentum=0.9, dropout=(0.25, 0.25, 0.5)
)

NO_DROPOUT = (0.0, 0.0, 0.0)
