"""The LSTM in tinygrad.

Idiom: a plain class whose ``__call__`` builds a lazy graph, step by step; ``TinyJit`` records the
    kernels of a training step, and replays them without Python.
Layout: sequences (N, T, 1).
Gates: input, forget, cell, output, stacked; two biases.
State: zeros at the start of every sequence, carried from chunk to chunk; ``detach`` cuts its
    gradient.
Surprise: ``nn.LSTMCell`` is one step, and has two biases, which are added. If both were trained,
    their sum would move twice as far; so the second stays at 0.
"""

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn

from frameworks.tinygrad import mlp
from frameworks.tinygrad.cnn import ROWS, load, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps that the gradient goes back through
NAMES = {  # of the parameters: tinygrad's and the shared ones
    "lstm.weight_ih": "lstm.input.weight",
    "lstm.weight_hh": "lstm.recurrent.weight",
    "lstm.bias_ih": "lstm.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, but for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


class Network:
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        self.dense1 = nn.Linear(1, 5)
        self.lstm = nn.LSTMCell(5, 5)
        self.dense2 = nn.Linear(5, 1)

    def __call__(self, x, state=None):
        """Values of a batch of sequences, and the state after them."""
        hs = []
        for t in range(x.shape[1]):
            state = self.lstm(self.dense1(x[:, t]), state)  # (N, 5) each
            hs.append(state[0])
        return self.dense2(Tensor.stack(*hs, dim=1)), state  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights put in place."""
    network.lstm.bias_hh.is_param_(False)  # no optimiser moves it
    tensors = nn.state.get_state_dict(network)
    for name in tensors:
        if name != "lstm.bias_hh":
            tensors[name] = Tensor(weights[NAMES.get(name, name)])
    nn.state.load_state_dict(network, tensors, verbose=False)
    parameters = nn.state.get_parameters(network)
    optimizer = nn.optim.Adam(
        parameters, lr=hp.learning_rate, b1=hp.beta1, b2=hp.beta2, eps=hp.epsilon
    )

    @TinyJit
    @Context(TRAINING=1)
    def step(x, y):
        optimizer.zero_grad()
        state, values = None, []
        for part in x.split(CHUNK, 1):  # (N, 10, 1)
            value, state = network(part, state)
            state = [tensor.detach() for tensor in state]  # the gradient stops here
            values.append(value)
        step_loss = (Tensor.cat(*values, dim=1) - y).square().mean()  # over the batch and its steps
        step_loss.backward()
        return step_loss.realize(*optimizer.schedule_step())

    @TinyJit
    def advance(x, h, c):
        value, (h, c) = network(x, (h, c))  # (N, 1, 1), (N, 5) each
        return value.realize(h, c), h, c

    return network, step, advance


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    advance, found = model[2], []
    for first in range(0, len(x), ROWS):
        part = np.zeros((ROWS,) + x.shape[1:], x.dtype)
        part[: len(x) - first] = x[first : first + ROWS]
        h, c = Tensor.zeros(ROWS, 5).clone(), Tensor.zeros(ROWS, 5).clone()
        values = []
        for t in range(2 * x.shape[1]):
            given = part[:, t : t + 1] if t < x.shape[1] else values[-1]
            value, h, c = advance(Tensor(given).realize(), h, c)
            values.append(value.numpy())
        found.append(np.concatenate(values, 1))
    return np.concatenate(found)[: len(x)]


def evaluate(values, targets):
    """Root mean square of the difference."""
    return (Tensor(values) - Tensor(targets)).square().mean().sqrt().item()


def weights(model):
    """Every weight under its canonical name; tinygrad's layouts are the canonical ones."""
    tensors = nn.state.get_state_dict(model[0])
    del tensors["lstm.bias_hh"]
    return {NAMES.get(name, name): w.numpy().copy() for name, w in tensors.items()}
