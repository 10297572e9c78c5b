"""Random weights large enough that each of them shows, and steps that both sides can take."""

import contextlib
import tempfile
from unittest import mock

import numpy as np
import torch

RATE, DECAY, BETAS, EPSILON = 1e-2, 0.1, (0.9, 0.999), 1e-8


def redraw(network, seed):
    """Matrices of order one over the root of their width, biases and gains that all differ."""
    random = np.random.RandomState(seed)
    with torch.no_grad():
        for name, weight in network.named_parameters():
            drawn = random.standard_normal(tuple(weight.shape))
            if weight.ndim == 1:
                drawn = drawn * 0.1 + (not name.endswith("bias"))
            elif "embeddings" in name or "wte" in name or "wpe" in name or "bias" in name:
                drawn = drawn * 0.7
            else:
                drawn = drawn / weight.shape[-1] ** 0.5
            weight.copy_(torch.from_numpy(drawn))


def carried(kind, network, change, **config):
    """The network of a class of another framework, with the changed weights of this one."""
    tensors = {name: value.clone() for name, value in network.state_dict().items()}
    change(tensors)
    with tempfile.TemporaryDirectory() as folder:
        network.save_pretrained(folder, state_dict=tensors, safe_serialization=False)
        return kind.from_pretrained(folder, from_pt=True, **config)


def exchange(tensors, one, other):
    """Give the tensors whose names begin with one the values of the other, and back."""
    for name in [name for name in tensors if name.startswith(one)]:
        partner = other + name[len(one) :]
        tensors[name], tensors[partner] = tensors[partner], tensors[name]


def decayed(network, rate=RATE):
    """AdamW without decay of vectors."""
    named = list(network.named_parameters())
    groups = [
        dict(params=[p for _, p in named if p.ndim > 1], weight_decay=DECAY),
        dict(params=[p for _, p in named if p.ndim < 2], weight_decay=0.0),
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=BETAS, eps=EPSILON)


class WarmedUp:
    """An optimiser whose rate rises to its own one in some steps, from the first one."""

    def __init__(self, optimizer, steps):
        self.optimizer = optimizer
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: (n + 1) / steps)

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.schedule.step()


class Falling(WarmedUp):
    """An optimiser whose rate falls linearly to 0 within a number of steps."""

    def __init__(self, optimizer, steps):
        self.optimizer = optimizer
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 - n / steps)


def patched(stack, place, name, value):
    """Another attribute until the recording is made."""
    stack.enter_context(mock.patch.object(place, name, value))


def stack():
    """What undoes the patches of a recording."""
    return contextlib.ExitStack()
