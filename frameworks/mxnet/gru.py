"""The GRU in MXNet, with Gluon.

Idiom: a Gluon ``HybridSequential``, which ``hybridize`` compiles to a graph; ``autograd.record``;
    a ``Trainer`` that owns the moments.
Layout: numbers of words (N, T), with ``layout="NTC"``; by default time comes first.
Gates: reset, update, new, stacked; two biases, both trained. The reset gate acts after the
    recurrent product and its bias, as in cuDNN.
Surprise: numbers of words are float32 unless you say otherwise, which is exact up to 2**24.
    ``nn.Embedding`` clips those out of range to the first or the last word, without an error.
"""

import mxnet as mx
from mxnet import gluon, nd
from mxnet.gluon import nn, rnn

from frameworks.mxnet import mlp
from frameworks.mxnet.cnn import evaluate, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

NAMES = {  # of the parameters: MXNet's and the shared ones
    "gru_l0_i2h_weight": "gru.input.weight",
    "gru_l0_h2h_weight": "gru.recurrent.weight",
    "gru_l0_i2h_bias": "gru.input.bias",
    "gru_l0_h2h_bias": "gru.recurrent.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.HybridSequential()
    network.add(
        nn.Embedding(10000, 125, prefix="words_"),  # (N, T, 125)
        rnn.GRU(100, layout="NTC", input_size=125, prefix="gru_"),  # (N, T, 100): every step's
        nn.HybridLambda(lambda F, x: F.slice_axis(x, axis=1, begin=-1, end=None)),  # (N, 1, 100)
        nn.Dense(2, in_units=100, prefix="dense_"),  # (N, 2), no softmax: the loss applies it
    )
    network.initialize(ctx=mx.Context(settings["device"]))
    return network


def shared_name(name):
    """The canonical name of MXNet's."""
    return NAMES.get(name, name.replace("_", "."))


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    parameters = network.collect_params()
    for name, parameter in parameters.items():
        parameter.set_data(nd.array(weights[shared_name(name)]))
    # MXNet's "logits" are log-probabilities; in Keras and elsewhere they are scores.
    criterion = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
    graph = {key: settings[key] for key in ("static_alloc", "static_shape")}
    network.hybridize(**graph)  # compiled at the first call
    adam = {"beta1": hp.beta1, "beta2": hp.beta2, "epsilon": hp.epsilon}
    trainer = gluon.Trainer(parameters, "adam", {"learning_rate": hp.learning_rate, **adam})
    return network, criterion, trainer


def weights(model):
    """Every weight under its canonical name; MXNet's layouts are the canonical ones."""
    parameters = model[0].collect_params().items()
    return {shared_name(name): parameter.data().asnumpy() for name, parameter in parameters}
