"""The GRU in PyTorch.

Idiom: an ``nn.Module`` with ``nn.Embedding`` and ``nn.GRU``, run eagerly.
Layout: numbers of words (N, T), with ``batch_first``; by default time comes first.
Gates: reset, update, new, stacked; two biases, both trained.
Surprise: the reset gate acts after the recurrent product and its bias, as in cuDNN.
"""

import torch
from torch import nn

from frameworks.pytorch import mlp
from frameworks.pytorch.cnn import evaluate, place, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

NAMES = {  # of the parameters: PyTorch's and the shared ones
    "gru.weight_ih_l0": "gru.input.weight",
    "gru.weight_hh_l0": "gru.recurrent.weight",
    "gru.bias_ih_l0": "gru.input.bias",
    "gru.bias_hh_l0": "gru.recurrent.bias",
}


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sentences, labels, settings):
    """Numbers of words (n, T) int64 and class numbers (n,), as they are."""
    return sentences, labels


class Network(nn.Module):
    """Embedding, GRU, and a dense layer on the last state."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10000, 125)
        self.gru = nn.GRU(125, 100, batch_first=True)
        self.dense = nn.Linear(100, 2)

    def forward(self, words):
        """Scores (N, 2) of sentences (N, T)."""
        _, state = self.gru(self.words(words))  # (1, N, 100): the last step's
        return self.dense(state[0])  # no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return place(Network(), settings)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    tensors = network.state_dict()
    network.load_state_dict({n: torch.from_numpy(weights[NAMES.get(n, n)]) for n in tensors})
    criterion = nn.CrossEntropyLoss()  # log-softmax, then the mean over the batch
    optimizer = torch.optim.Adam(
        network.parameters(),
        lr=hp.learning_rate,
        betas=(hp.beta1, hp.beta2),
        eps=hp.epsilon,
        fused=settings["fused_optimizer"] or None,  # False would forbid ``foreach``, too
    )
    return network, criterion, optimizer


def weights(model):
    """Every weight under its canonical name; PyTorch's layouts are the canonical ones."""
    tensors = model[0].state_dict()
    return {NAMES.get(n, n): tensor.numpy(force=True).copy() for n, tensor in tensors.items()}
