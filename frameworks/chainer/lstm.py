"""The LSTM in Chainer.

Idiom: a ``Chain`` whose ``L.LSTM`` keeps its state between calls; ``forward`` is plain Python, run
    eagerly, step by step.
Layout: sequences (N, T, 1).
Gates: cell, input, forget, output of the first unit, then of the second, and so on; one bias.
State: zeros after ``reset_state``. ``unchain_backward`` cuts the graph before the state, so that no
    gradient flows into the previous chunk; each chunk's ``backward`` adds to the gradients.
Surprise: without ``reset_state`` a batch starts from the previous batch's last state, and there is
    no error.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda

from frameworks.chainer import mlp
from frameworks.chainer.cnn import wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps through which the gradient flows back
GATES = [2, 0, 1, 3]  # Chainer's order of input, forget, cell, output


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def load(sequences, targets, settings):
    """Float32 sequences and targets (n, T, 1), as they are."""
    return sequences, targets


class Network(chainer.Chain):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.dense1 = L.Linear(1, 5)
            self.lstm = L.LSTM(5, 5)
            self.dense2 = L.Linear(5, 1)

    def forward(self, x):
        """Values of a batch of sequences, from the state that the last call left."""
        values = [self.dense2(self.lstm(self.dense1(x[:, t]))) for t in range(x.shape[1])]
        return F.stack(values, 1)  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network().to_device(settings["chainer_device"])


def parameters(network):
    """{canonical name: parameter}."""
    return {
        "dense1.weight": network.dense1.W,
        "dense1.bias": network.dense1.b,
        "lstm.input.weight": network.lstm.upward.W,
        "lstm.recurrent.weight": network.lstm.lateral.W,
        "lstm.bias": network.lstm.upward.b,
        "dense2.weight": network.dense2.W,
        "dense2.bias": network.dense2.b,
    }


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, parameter in parameters(network).items():
        w = weights[name]
        if name.startswith("lstm."):  # from gates of units to units of gates
            w = w.reshape((4, 5) + w.shape[1:])[GATES].swapaxes(0, 1).reshape(w.shape)
        parameter.array = network.device.send(w.copy())
    criterion = F.mean_squared_error  # over the batch and its steps
    optimizer = chainer.optimizers.Adam(
        alpha=hp.learning_rate, beta1=hp.beta1, beta2=hp.beta2, eps=hp.epsilon
    )
    optimizer.setup(network)
    return network, criterion, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    for x, y in batches:
        x, y = network.device.send(x), network.device.send(y)  # (N, T, 1)
        network.cleargrads()
        network.lstm.reset_state()
        step_loss, chunks = 0, range(0, x.shape[1], CHUNK)
        for first in chunks:
            part = slice(first, first + CHUNK)
            part_loss = criterion(network(x[:, part]), y[:, part]) / len(chunks)
            part_loss.backward()
            part_loss.unchain_backward()  # the gradient stops here
            step_loss += part_loss.array
        optimizer.update()
        yield step_loss


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    network = model[0]
    network.lstm.reset_state()
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        values = [network(network.device.send(x))]  # (N, T, 1)
        for _ in range(x.shape[1]):
            values.append(network(values[-1][:, -1:]))  # (N, 1, 1)
        return cuda.to_cpu(F.concat(values, 1).array)


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(F.sqrt(F.mean_squared_error(values, targets)).array)


def weights(model):
    """Every weight under its canonical name and in its canonical order of gates."""
    found = {}
    for name, parameter in parameters(model[0]).items():
        w = np.array(cuda.to_cpu(parameter.array))
        if name.startswith("lstm."):
            units = w.reshape((5, 4) + w.shape[1:]).swapaxes(0, 1)
            w = units[np.argsort(GATES)].reshape(w.shape)
        found[name] = w
    return found
