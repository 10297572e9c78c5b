"""The MLP in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    owns the moments.
Layout: rows of 784 pixels.
Adam: both moments corrected for their bias, but epsilon is added to the root of the second before
    that is corrected, as in the paper's remark on efficiency.
Surprise: the learning rate is called alpha, after the paper, and so is the attribute that a
    schedule must change.
"""

import chainer
import chainer.functions as F
import chainer.links as L

from frameworks.chainer import cnn
from frameworks.chainer.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN; and what Chainer's Adam adds epsilon to."""
    return dict(cnn.configure(lane, threads, seed), adam_epsilon="uncorrected")


class MLP(chainer.Chain):
    """The links hold the weights; ``forward`` applies them, and what has no weights, in order."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.dense1 = L.Linear(784, 1000)
            self.dense2 = L.Linear(1000, 1000)
            self.dense3 = L.Linear(1000, 10)

    def forward(self, x):
        """Scores of a batch of images."""
        x = F.relu(self.dense1(x))  # (N, 1000); Linear flattens to 784 first
        x = F.relu(self.dense2(x))  # (N, 1000)
        return self.dense3(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return MLP().to_device(settings["chainer_device"])


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights put in place."""
    put(network, weights)
    criterion = F.softmax_cross_entropy  # softmax and the mean over the batch included
    optimizer = chainer.optimizers.Adam(hp.learning_rate, hp.beta1, hp.beta2, hp.epsilon)
    optimizer.setup(network)
    return network, criterion, optimizer
