"""The Llama in PyTorch.

Idiom: ``nn.Module`` blocks, ``scaled_dot_product_attention`` with ``enable_gqa``, AdamW.
Layout: tokens (N, T), activations (N, T, D), queries (N, 4, T, D / 4), keys (N, 2, T, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, as in transformers; Meta's own code
    rotates neighbours, so weights in Meta's format must be permuted.
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t.
Surprise: ``CrossEntropyLoss`` leaves out targets of -100 and divides by the number of the others.
    With padding, the mean of several batches' or workers' losses is not the loss of all together.
"""

import torch
from torch import nn
from torch.nn import functional as F

from frameworks.pytorch.cnn import place, wait
from frameworks.pytorch.gpt import configure, evaluate, load, optimizer_of, predict, train, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, WIDTH, HEADS, KEY_HEADS, BLOCKS, HIDDEN = 65, 128, 4, 2, 4, 344
BASE, EPSILON = 10000, 1e-5


def rotate(x, first):
    """Rotate queries or keys (N, H, T, d) by their places, which begin at ``first``."""
    d, t = x.shape[-1], x.shape[-2]
    frequencies = BASE ** (-torch.arange(0, d, 2, device=x.device) / d)  # (d / 2,)
    angles = torch.outer(torch.arange(first, first + t, device=x.device), frequencies)
    cos, sin = angles.cos(), angles.sin()  # (T, d / 2)
    left, right = x.chunk(2, -1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class Attention(nn.Module):
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self):
        super().__init__()
        narrow = WIDTH * KEY_HEADS // HEADS
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k = nn.Linear(WIDTH, narrow, bias=False)
        self.v = nn.Linear(WIDTH, narrow, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        n, t, _ = x.shape
        first = 0 if cache is None else cache[0].shape[2]
        # Queries (N, 4, T, D / 4), keys and values (N, 2, T, D / 4).
        q = rotate(self.q(x).view(n, t, HEADS, -1).transpose(1, 2), first)
        k = rotate(self.k(x).view(n, t, KEY_HEADS, -1).transpose(1, 2), first)
        v = self.v(x).view(n, t, KEY_HEADS, -1).transpose(1, 2)
        if cache is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(cache, (k, v)))
        # Queries 0 and 1 take key 0, 2 and 3 key 1.
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(n, t, WIDTH)), (k, v)


class MLP(nn.Module):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        """Activations (N, T, D)."""
        return self.down(F.silu(self.gate(x)) * self.up(x))  # (N, T, 344) between


class Block(nn.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.RMSNorm(WIDTH, eps=EPSILON)  # by default float32's, 1.2e-7
        self.attention = Attention()
        self.norm2 = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.mlp = MLP()

    def forward(self, x, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class Llama(nn.Module):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        x, new = self.tokens(tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, cache)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return place(Llama(), settings)


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    network.load_state_dict({name: torch.from_numpy(w) for name, w in weights.items()})
    criterion = nn.CrossEntropyLoss(ignore_index=-100)  # the mean over the targets that count
    optimizer, schedule = optimizer_of(network, settings, hp)
    return network, criterion, optimizer, schedule, hp.clip  # the norm to which train() clips
