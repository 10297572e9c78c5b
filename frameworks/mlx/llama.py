"""The Llama in MLX.

Idiom: ``nn.Module`` blocks with ``nn.RMSNorm`` and ``nn.RoPE``;
    ``mx.fast.scaled_dot_product_attention`` takes fewer heads of keys and values than of queries.
Layout: tokens (N, T), activations (N, T, D), queries (N, 4, T, D / 4), keys (N, 2, T, D / 4).
Rotary positions: ``nn.RoPE`` rotates feature i with feature i + d / 2, as in transformers; with
    ``traditional=True`` it rotates neighbours, as in Meta's own code.
AdamW: ``w = w * (1 - lr * decay) - lr / c1 * m / (sqrt(v) / sqrt(c2) + epsilon)``, c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: ``cross_entropy`` has no ignored target: at -100 it reads a score of an earlier position,
    or memory before the array, and gives it a gradient. So these targets are replaced, then left
    out.
"""

import math

import mlx.core as mx
import mlx.nn as nn

from frameworks.mlx.cnn import compiled, put, train, wait, weights
from frameworks.mlx.gpt import configure, load, optimizer_of, predict, step_of

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, WIDTH, HEADS, KEY_HEADS, BLOCKS, HIDDEN = 65, 128, 4, 2, 4, 344
BASE, EPSILON, IGNORED = 10000, 1e-5, -100


def linear(inputs, outputs):
    """A dense layer without a bias."""
    return nn.Linear(inputs, outputs, bias=False)


class Attention(nn.Module):
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self):
        super().__init__()
        narrow = WIDTH * KEY_HEADS // HEADS
        self.q = linear(WIDTH, WIDTH)
        self.k = linear(WIDTH, narrow)
        self.v = linear(WIDTH, narrow)
        self.out = linear(WIDTH, WIDTH)
        self.rotate = nn.RoPE(WIDTH // HEADS, base=BASE)

    def __call__(self, x, cache, first):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        n, t, _ = x.shape
        # Queries (N, 4, T, D / 4), keys and values (N, 2, T, D / 4).
        q = self.rotate(self.q(x).reshape(n, t, HEADS, -1).transpose(0, 2, 1, 3), offset=first)
        k = self.rotate(self.k(x).reshape(n, t, KEY_HEADS, -1).transpose(0, 2, 1, 3), offset=first)
        v = self.v(x).reshape(n, t, KEY_HEADS, -1).transpose(0, 2, 1, 3)
        if cache is not None:
            k, v = [mx.concatenate(pair, axis=2) for pair in zip(cache, (k, v))]
        mask = "causal" if cache is None else None  # a single new token may look at all
        scale = 1 / math.sqrt(WIDTH // HEADS)
        # Queries 0 and 1 take key 0, 2 and 3 key 1.
        mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(n, t, WIDTH)), (k, v)


class MLP(nn.Module):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self):
        super().__init__()
        self.gate = linear(WIDTH, HIDDEN)
        self.up = linear(WIDTH, HIDDEN)
        self.down = linear(HIDDEN, WIDTH)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(nn.silu(self.gate(x)) * self.up(x))  # (N, T, 344) between


class Block(nn.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.attention = Attention()
        self.norm2 = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.mlp = MLP()

    def __call__(self, x, cache, first):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache, first)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class Llama(nn.Module):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.head = linear(WIDTH, WORDS)

    def __call__(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        x, new = self.tokens(tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache, first)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return Llama()


def cross_entropy(scores, targets):
    """The mean over all targets of the batch that count."""
    counted = targets != IGNORED
    losses = nn.losses.cross_entropy(scores, mx.where(counted, targets, 0))  # (N, T)
    return (losses * counted).sum(axis=1).sum() / counted.sum()  # in two steps, to round less often


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    optimizer = optimizer_of(hp)

    def mean_loss(x, y):
        scores, _ = network(x)  # (N, T, 65)
        return cross_entropy(scores, y)

    return compiled(network, optimizer, step_of(network, optimizer, mean_loss, hp.clip), settings)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given and count."""
    return cross_entropy(mx.array(scores[:, : targets.shape[1]]), mx.array(targets)).item()
