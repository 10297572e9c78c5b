"""The LSTM in MXNet, with Gluon.

Idiom: a Gluon ``HybridBlock`` that takes and returns the state, compiled to a graph by
    ``hybridize``; ``autograd.record``; a ``Trainer`` that owns the moments.
Layout: sequences (N, T, 1), with ``layout="NTC"``; by default time comes first.
Gates: input, forget, cell, output, stacked; two biases.
State: zeros at the start of every sequence, carried from chunk to chunk; ``detach`` cuts
    its gradient.
Surprise: ``rnn.LSTM`` has two biases, which are added, as in cuDNN. If both were trained, their sum
    would move twice as far; so the second stays at 0. And ``L2Loss`` is half the squared error,
    unless its weight is 2.
"""

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn, rnn

from frameworks.mxnet import mlp
from frameworks.mxnet.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps through which the gradient flows back
NAMES = {  # of the parameters: MXNet's and the shared ones
    "lstm_l0_i2h_weight": "lstm.input.weight",
    "lstm_l0_h2h_weight": "lstm.recurrent.weight",
    "lstm_l0_i2h_bias": "lstm.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def load(sequences, targets, settings):
    """Float32 sequences and targets (n, T, 1), as they are."""
    return sequences, targets


class Network(gluon.HybridBlock):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        super().__init__(prefix="")
        with self.name_scope():
            self.dense1 = nn.Dense(5, in_units=1, flatten=False, prefix="dense1_")
            self.lstm = rnn.LSTM(5, layout="NTC", input_size=5, prefix="lstm_")
            self.dense2 = nn.Dense(1, in_units=5, flatten=False, prefix="dense2_")

    def hybrid_forward(self, F, x, h, c):
        """Values of a batch of sequences, and the state after them."""
        inner, (h, c) = self.lstm(self.dense1(x), [h, c])  # (N, T, 5)
        return self.dense2(inner), h, c  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = Network()
    network.initialize(ctx=mx.Context(settings["device"]))
    return network


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    parameters = network.collect_params()
    for name, parameter in parameters.items():  # "dense1_weight"
        if name != "lstm_l0_h2h_bias":  # it is 0 already
            shared = NAMES.get(name, name.replace("_", "."))
            parameter.set_data(nd.array(weights[shared]))
    network.lstm.l0_h2h_bias.grad_req = "null"
    criterion = gluon.loss.L2Loss(weight=2)  # the mean over a sequence's steps
    graph = {key: settings[key] for key in ("static_alloc", "static_shape")}
    network.hybridize(**graph)  # compiled at the first call
    adam = {"beta1": hp.beta1, "beta2": hp.beta2, "epsilon": hp.epsilon}
    trainer = gluon.Trainer(parameters, "adam", {"learning_rate": hp.learning_rate, **adam})
    return network, criterion, trainer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, trainer = model
    device = network.dense1.weight.list_ctx()[0]
    for x, y in batches:
        h, c = network.lstm.begin_state(len(x), ctx=device)  # (1, N, 5) each
        losses = nd.zeros(len(x), device)
        chunks = range(0, x.shape[1], CHUNK)
        with autograd.record():
            for first in chunks:
                part = slice(first, first + CHUNK)
                values, h, c = network(nd.array(x[:, part], device), h, c)  # (N, 10, 1)
                h, c = h.detach(), c.detach()  # the gradient stops here
                losses = losses + criterion(values, nd.array(y[:, part], device))  # (N,)
            losses = losses / len(chunks)
        losses.backward()  # not for x, which has no attach_grad()
        trainer.step(len(y))
        yield losses.mean().as_np_ndarray()  # float() rejects a legacy NDArray


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    network = model[0]
    device = network.dense1.weight.list_ctx()[0]
    h, c = network.lstm.begin_state(len(x), ctx=device)
    value, h, c = network(nd.array(x, device), h, c)  # (N, T, 1)
    values = [value]
    for _ in range(x.shape[1]):
        value, h, c = network(value[:, -1:], h, c)  # (N, 1, 1)
        values.append(value)
    return nd.concat(*values, dim=1).asnumpy()


def evaluate(values, targets):
    """Root mean square of the difference."""
    metric = mx.metric.RMSE()
    metric.update([nd.array(targets)], [nd.array(values)])
    return float(metric.get()[1])


def weights(model):
    """Every weight under its canonical name; MXNet's layouts are the canonical ones."""
    parameters = dict(model[0].collect_params().items())
    del parameters["lstm_l0_h2h_bias"]
    return {
        NAMES.get(name, name.replace("_", ".")): parameter.data().asnumpy()
        for name, parameter in parameters.items()
    }
