"""The GRU in Chainer.

Idiom: a ``Chain`` with ``L.EmbedID`` and ``L.NStepGRU``, which takes a list of sentences; they may
    be of different lengths.
Layout: numbers of words (N, T).
Gates: reset, update, new: w0, w1, w2 of the inputs and w3, w4, w5 of the state, each with a bias,
    b0 to b5. The reset gate acts after the recurrent product and its bias, as in cuDNN.
Surprise: ``L.GRU`` is another layer: its reset gate acts before the recurrent product, and its
    update gate is the share of the new state, not of the old.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda

from frameworks.chainer import mlp
from frameworks.chainer.cnn import evaluate, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) and class numbers (n,), int32 as Chainer's own datasets."""
    return sentences.astype(np.int32), labels.astype(np.int32)


class Network(chainer.Chain):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.words = L.EmbedID(10000, 125)
            self.gru = L.NStepGRU(1, 125, 100, 0.0)  # one layer, no dropout
            self.dense = L.Linear(100, 2)

    def forward(self, words):
        """Scores (N, 2) of sentences (N, T)."""
        sentences = F.separate(self.words(words))  # a list of N, each (T, 125)
        state, _ = self.gru(None, list(sentences))  # (1, N, 100): the last step's
        return self.dense(state[0])


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network().to_device(settings["chainer_device"])


def tensors(network):
    """{canonical name: parameters}, one for each gate."""
    gru = network.gru[0]  # the first layer
    return {
        "words.weight": [network.words.W],
        "gru.input.weight": [gru.w0, gru.w1, gru.w2],
        "gru.recurrent.weight": [gru.w3, gru.w4, gru.w5],
        "gru.input.bias": [gru.b0, gru.b1, gru.b2],
        "gru.recurrent.bias": [gru.b3, gru.b4, gru.b5],
        "dense.weight": [network.dense.W],
        "dense.bias": [network.dense.b],
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, parameters in tensors(network).items():
        for parameter, w in zip(parameters, np.split(weights[name], len(parameters))):
            parameter.array = network.device.send(w.copy())
    criterion = F.softmax_cross_entropy  # softmax and the mean over the batch included
    optimizer = chainer.optimizers.Adam(
        alpha=hp.learning_rate, beta1=hp.beta1, beta2=hp.beta2, eps=hp.epsilon
    )
    optimizer.setup(network)
    return network, criterion, optimizer


def weights(model):
    """Every weight under its canonical name, its gates stacked."""
    return {
        name: np.concatenate([cuda.to_cpu(parameter.array) for parameter in parameters])
        for name, parameters in tensors(model[0]).items()
    }
