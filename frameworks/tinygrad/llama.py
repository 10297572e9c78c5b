"""The Llama in tinygrad.

Idiom: plain classes whose ``__call__`` builds a lazy graph; ``scaled_dot_product_attention`` with
    ``enable_gqa`` takes fewer heads of keys and values than of queries.
Layout: tokens (N, T), activations (N, T, D), queries (N, 4, T, D / 4), keys (N, 2, T, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, as in transformers; Meta's own code
    rotates neighbours, and its weights must be permuted.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t, in float32.
Surprise: the cross-entropy's ``ignore_index`` is -1 by default, which stands for none: a target of
    -100 then adds nothing to the sum of losses, and is counted in the mean.
"""

import functools

import numpy as np
from tinygrad import Tensor, nn

from frameworks.tinygrad.cnn import put, train, wait, weights
from frameworks.tinygrad.gpt import configure, load, predict, recorded, step_of

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, KEY_HEADS, BLOCKS, HIDDEN = 65, 64, 128, 4, 2, 4, 344
BASE, EPSILON, IGNORED = 10000, 1e-5, -100


def linear(inputs, outputs):
    """A dense layer without a bias."""
    return nn.Linear(inputs, outputs, bias=False)


@functools.cache  # a constant: in an attribute, it would be one of the network's weights
def rotations():
    """The cosines and sines of all places' angles, (T, d / 2) each."""
    frequencies = BASE ** (-np.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
    angles = np.outer(np.arange(CONTEXT), frequencies)
    return [
        Tensor(table.astype(np.float32)).realize() for table in (np.cos(angles), np.sin(angles))
    ]


def rotate(x, place):
    """Rotate queries or keys (N, H, T, d) of all places, or of one, (1,)."""
    tables = rotations()
    for table in tables:
        table.grad = None  # backward() adds to that of every tensor: a graph without end
    cos, sin = [table[: x.shape[2]] if place is None else table[place] for table in tables]
    left, right = x.chunk(2, dim=-1)
    return (left * cos - right * sin).cat(right * cos + left * sin, dim=-1)


class Attention:
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self):
        narrow = WIDTH * KEY_HEADS // HEADS
        self.q = linear(WIDTH, WIDTH)
        self.k = linear(WIDTH, narrow)
        self.v = linear(WIDTH, narrow)
        self.out = linear(WIDTH, WIDTH)

    def __call__(self, x, cache, place):
        """Activations (N, T, D); with a cache, only of the token at one place."""
        n, t, _ = x.shape
        # Queries (N, 4, T, D / 4), keys and values (N, 2, T, D / 4).
        q = rotate(self.q(x).reshape(n, t, HEADS, -1).transpose(1, 2), place)
        k = rotate(self.k(x).reshape(n, t, KEY_HEADS, -1).transpose(1, 2), place)
        v = self.v(x).reshape(n, t, KEY_HEADS, -1).transpose(1, 2)
        which = dict(is_causal=True)
        if cache is not None:
            places = Tensor.arange(CONTEXT)
            here = (places == place).unsqueeze(1)
            k, v = [kept.assign(here.where(new, kept)) for kept, new in zip(cache, (k, v))]
            which = dict(attn_mask=places <= place)  # True: is seen
        # Queries 0 and 1 take key 0, 2 and 3 key 1.
        mixed = q.scaled_dot_product_attention(k, v, enable_gqa=True, **which)
        return self.out(mixed.transpose(1, 2).reshape(n, t, WIDTH))


class MLP:
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self):
        self.gate = linear(WIDTH, HIDDEN)
        self.up = linear(WIDTH, HIDDEN)
        self.down = linear(HIDDEN, WIDTH)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(self.gate(x).silu() * self.up(x))  # (N, T, 344) between


class Block:
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        self.norm1 = nn.RMSNorm(WIDTH, EPSILON)  # 1e-6 by default
        self.attention = Attention()
        self.norm2 = nn.RMSNorm(WIDTH, EPSILON)
        self.mlp = MLP()

    def __call__(self, x, cache, place):
        """Activations (N, T, D)."""
        x = x + self.attention(self.norm1(x), cache, place)
        return x + self.mlp(self.norm2(x))


class Llama:
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = nn.RMSNorm(WIDTH, EPSILON)
        self.head = linear(WIDTH, WORDS)

    def __call__(self, tokens, caches=(None,) * BLOCKS, place=None):
        """Scores (N, T, 65) of the tokens; with caches, of the one token at ``place`` (1,)."""
        x = self.tokens(tokens)  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache, place)
        return self.head(self.norm(x))


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return Llama()


def cross_entropy(scores, targets):
    """The mean over all targets of the batch that count."""
    return scores.sparse_categorical_crossentropy(targets, ignore_index=IGNORED)


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    return network, step_of(network, cross_entropy, hp), recorded(network, KEY_HEADS)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given and count."""
    given, counted = Tensor(scores[:, : targets.shape[1]]), (targets != IGNORED).sum()
    losses = given.sparse_categorical_crossentropy(Tensor(targets), IGNORED, reduction="none")
    return losses.sum(axis=1).numpy().sum().item() / counted  # a single sum rounds more often
