"""The LSTM in PaddlePaddle.

Idiom: an ``nn.Layer`` whose ``forward`` takes and returns the state, as a dynamic graph.
Layout: sequences (N, T, 1); ``time_major`` would ask for time first.
Gates: input, forget, cell, output, stacked; two biases.
State: zeros at the start of every sequence, carried from chunk to chunk; ``detach`` cuts its
    gradient. One call of ``backward`` serves all chunks.
Surprise: ``nn.LSTM`` has two biases, which are added, as in cuDNN. If both were trained, their sum
    would move twice as far; so the second stays at 0. The backward pass fails if the
    second bias has ``stop_gradient``, so the optimiser is not given it.
"""

import paddle
from paddle import nn

from frameworks.paddle import mlp
from frameworks.paddle.cnn import load, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps that the gradient goes back through
NAMES = {  # of the parameters: Paddle's and the shared ones
    "lstm.weight_ih_l0": "lstm.input.weight",
    "lstm.weight_hh_l0": "lstm.recurrent.weight",
    "lstm.bias_ih_l0": "lstm.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, but for the layout, and the network is not compiled."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC", to_static=False)
    return dict(settings, not_in_force=settings["not_in_force"] + ["trace_run"])


class Network(nn.Layer):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(1, 5)
        self.lstm = nn.LSTM(5, 5)
        self.dense2 = nn.Linear(5, 1)

    def forward(self, x, state=None):
        """Values of a batch of sequences, and the state after them."""
        h, state = self.lstm(self.dense1(x), state)  # (N, T, 5)
        return self.dense2(h), state  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network()


def named(network):
    """{canonical name: tensor}, without the LSTM's second bias."""
    found = {}
    for name, tensor in network.named_parameters():
        if name != "lstm.bias_hh_l0":
            found[NAMES.get(name, name)] = tensor
    return found


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, tensor in named(network).items():
        tensor.set_value(weights[name].T if name.startswith("dense") else weights[name])
    nn.initializer.Constant(0.0)(network.lstm.bias_hh_l0)
    criterion = nn.MSELoss()  # the mean over the batch and its steps
    optimizer = paddle.optimizer.Adam(
        hp.learning_rate,
        beta1=hp.beta1,
        beta2=hp.beta2,
        epsilon=hp.epsilon,
        parameters=list(named(network).values()),
    )
    return network, criterion, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    network.train()
    for x, y in batches:
        chunks = [paddle.to_tensor(part).split(x.shape[1] // CHUNK, 1) for part in (x, y)]
        state, step_loss = None, 0
        for x_part, y_part in zip(*chunks):  # (N, 10, 1)
            values, state = network(x_part, state)
            state = [part.detach() for part in state]  # the gradient stops here
            step_loss += criterion(values, y_part) / len(chunks[0])
        step_loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        yield step_loss.detach()


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    network = model[0]
    network.eval()
    with paddle.no_grad():
        value, state = network(paddle.to_tensor(x))  # (N, T, 1)
        values = [value]
        for _ in range(x.shape[1]):
            value, state = network(value[:, -1:], state)  # (N, 1, 1)
            values.append(value)
    return paddle.concat(values, 1).numpy()


def evaluate(values, targets):
    """Root mean square of the difference."""
    error = nn.functional.mse_loss(paddle.to_tensor(values), paddle.to_tensor(targets))
    return error.sqrt().item()


def weights(model):
    """Every weight under its canonical name; only dense layers have another layout in Paddle."""
    found = {name: tensor.numpy() for name, tensor in named(model[0]).items()}
    return {name: w.T.copy() if name.startswith("dense") else w for name, w in found.items()}
