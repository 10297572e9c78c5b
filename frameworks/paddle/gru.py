"""The GRU in PaddlePaddle.

Idiom: an ``nn.Layer`` with ``nn.Embedding`` and ``nn.GRU``, as a dynamic graph.
Layout: numbers of words (N, T); ``time_major`` would ask for time first.
Gates: reset, update, new, stacked; two biases, both trained. The reset gate acts after the
    recurrent product and its bias, as in cuDNN.
Surprise: ``padding_idx`` freezes that word's embedding at zeros; -1 stands for none, so a word
    numbered -1 gets zeros too, where any other number out of range raises an error.
"""

import paddle
from paddle import nn

from frameworks.paddle import lstm
from frameworks.paddle.cnn import cross_entropy, evaluate, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

NAMES = {  # of the parameters: Paddle's and the shared ones
    "gru.weight_ih_l0": "gru.input.weight",
    "gru.weight_hh_l0": "gru.recurrent.weight",
    "gru.bias_ih_l0": "gru.input.bias",
    "gru.bias_hh_l0": "gru.recurrent.bias",
}


def configure(lane, threads, seed):
    """As for the LSTM, but for the layout."""
    return dict(lstm.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


class Network(nn.Layer):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10000, 125)
        self.gru = nn.GRU(125, 100)
        self.dense = nn.Linear(100, 2)

    def forward(self, words):
        """Scores (N, 2) of sentences (N, T)."""
        _, state = self.gru(self.words(words))  # (1, N, 100): the last step's
        return self.dense(state[0])  # no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def canonical(name, w):
    """The matrix that is (in, out) here and (out, in) there, or the other way round."""
    return w.T if name == "dense.weight" else w


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, tensor in network.named_parameters():
        name = NAMES.get(name, name)
        tensor.set_value(canonical(name, weights[name]))
    optimizer = paddle.optimizer.Adam(
        hp.learning_rate,
        beta1=hp.beta1,
        beta2=hp.beta2,
        epsilon=hp.epsilon,
        parameters=network.parameters(),
    )
    return network, cross_entropy, optimizer


def weights(model):
    """Every weight under its canonical name; only the dense layer has another layout in Paddle."""
    found = {NAMES.get(name, name): w.numpy() for name, w in model[0].named_parameters()}
    return {name: canonical(name, w).copy() for name, w in found.items()}
