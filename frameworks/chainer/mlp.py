"""The MLP in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    owns the moments.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: the learning rate is called ``alpha``, as in the paper. ``optimizer.lr``, since version 6
    ``alpha_t``, is the corrected step size and cannot be set.
"""

import chainer
import chainer.functions as F
import chainer.links as L

from frameworks.chainer import cnn
from frameworks.chainer.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam; switches of convolutions are not in force."""
    settings = with_adam(cnn.configure(lane, threads, seed))
    convolutions = {"autotune", "cudnn_workspace", "tensor_core"}
    return dict(settings, not_in_force=sorted(convolutions | set(settings["not_in_force"])))


def with_adam(settings):
    """The CNN's settings, and how Chainer's Adam differs by convention."""
    return dict(settings, adam_epsilon="uncorrected")


class MLP(chainer.Chain):
    """The links hold the weights; ``forward`` applies them and the functions without weights."""

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
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    criterion = F.softmax_cross_entropy  # softmax and the mean over the batch included
    optimizer = chainer.optimizers.Adam(
        alpha=hp.learning_rate, beta1=hp.beta1, beta2=hp.beta2, eps=hp.epsilon
    )
    optimizer.setup(network)
    return network, criterion, optimizer
