"""The LSTM in PyTorch.

Idiom: an ``nn.Module`` whose ``forward`` takes and returns the state, run eagerly.
Layout: sequences (N, T, 1), with ``batch_first``; by default time comes first.
Gates: input, forget, cell, output, stacked; two biases.
State: zeros at the start of every sequence, carried from chunk to chunk; ``detach`` cuts its
    gradient. One call of ``backward`` serves all chunks.
Surprise: ``nn.LSTM`` has two biases, which are added, as in cuDNN. If both were trained, their sum
    would move twice as far; so the second stays at 0.
"""

import torch
from torch import nn

from frameworks.pytorch import mlp
from frameworks.pytorch.cnn import load, place, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps through which the gradient flows back
NAMES = {  # of the parameters: PyTorch's and the shared ones
    "lstm.weight_ih_l0": "lstm.input.weight",
    "lstm.weight_hh_l0": "lstm.recurrent.weight",
    "lstm.bias_ih_l0": "lstm.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout; cuDNN's LSTM has a precision of its own."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NTC")
    tf32 = torch.backends.cudnn.rnn.fp32_precision == "tf32"
    return dict(settings, tf32=settings["tf32"] or tf32)


class Network(nn.Module):
    """Dense, LSTM, dense, at every step of a sequence."""

    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(1, 5)
        self.lstm = nn.LSTM(5, 5, batch_first=True)
        self.dense2 = nn.Linear(5, 1)

    def forward(self, x, state=None):
        """Values of a batch of sequences, and the state after them."""
        h, state = self.lstm(self.dense1(x), state)  # (N, T, 5)
        return self.dense2(h), state  # (N, T, 1)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return place(Network(), settings)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    tensors = network.state_dict()
    for name in tensors:
        if name != "lstm.bias_hh_l0":
            tensors[name] = torch.from_numpy(weights[NAMES.get(name, name)])
    network.load_state_dict(tensors)
    nn.init.zeros_(network.lstm.bias_hh_l0).requires_grad_(False)
    criterion = nn.MSELoss()  # the mean over the batch and its steps
    optimizer = torch.optim.Adam(
        [parameter for parameter in network.parameters() if parameter.requires_grad],
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )
    return network, criterion, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    device = network.dense1.weight.device
    network.train()
    for x, y in batches:
        chunks = [torch.from_numpy(part).to(device).split(CHUNK, 1) for part in (x, y)]
        optimizer.zero_grad()
        state, step_loss = None, 0
        for x_part, y_part in zip(*chunks):  # (N, 10, 1)
            values, state = network(x_part, state)
            state = [part.detach() for part in state]  # the gradient stops here
            step_loss += criterion(values, y_part) / len(chunks[0])
        step_loss.backward()  # once: workers would exchange gradients after each chunk
        optimizer.step()
        yield step_loss.detach()


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running on its own output."""
    network = model[0]
    network.eval()
    with torch.inference_mode():
        value, state = network(torch.from_numpy(x).to(network.dense1.weight.device))  # (N, T, 1)
        values = [value]
        for _ in range(x.shape[1]):
            value, state = network(value[:, -1:], state)  # (N, 1, 1)
            values.append(value)
    return torch.cat(values, 1).cpu().numpy()


def evaluate(values, targets):
    """Root mean square of the difference."""
    error = nn.functional.mse_loss(torch.from_numpy(values), torch.from_numpy(targets))
    return error.sqrt().item()


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    tensors = {NAMES.get(name, name): w for name, w in model[0].state_dict().items()}
    del tensors["lstm.bias_hh_l0"]
    return {name: tensor.numpy(force=True).copy() for name, tensor in tensors.items()}
