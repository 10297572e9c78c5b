"""The Llama in Flax NNX, on JAX, with Optax.

Idiom: ``nnx.Module`` blocks in an ``nnx.List``; ``nnx.dot_product_attention`` takes fewer heads of
    keys and values than of queries.
Layout: tokens (N, T), activations (N, T, D), queries (N, T, 4, D / 4), keys (N, T, 2, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, as in transformers; Meta's own code
    rotates neighbours, and its weights must be permuted.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, Optax's; c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: Optax's cross-entropy gives NaN at a target of -100. ``mean(where=...)`` leaves it out,
    with its gradient; a product with a mask would keep it, since 0 times NaN is NaN.
"""

import jax.numpy as jnp
import optax
from flax import nnx

from frameworks.flax.cnn import wait
from frameworks.flax.gpt import (
    attend,
    configure,
    load,
    optimizer_of,
    predict,
    put,
    train,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, WIDTH, HEADS, KEY_HEADS, BLOCKS, HIDDEN = 65, 128, 4, 2, 4, 344
BASE, EPSILON, IGNORED = 10000, 1e-5, -100


def rotate(x, first):
    """Rotate queries or keys (N, T, H, d) by their places, which begin at ``first``."""
    _, t, _, d = x.shape
    frequencies = BASE ** (-jnp.arange(0, d, 2) / d)  # (d / 2,)
    angles = jnp.outer(first + jnp.arange(t), frequencies)[:, None]  # (T, 1, d / 2)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    left, right = jnp.split(x, 2, -1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


class Attention(nnx.Module):
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self, rngs):
        narrow = WIDTH * KEY_HEADS // HEADS
        self.q = nnx.Linear(WIDTH, WIDTH, use_bias=False, rngs=rngs)
        self.k = nnx.Linear(WIDTH, narrow, use_bias=False, rngs=rngs)
        self.v = nnx.Linear(WIDTH, narrow, use_bias=False, rngs=rngs)
        self.out = nnx.Linear(WIDTH, WIDTH, use_bias=False, rngs=rngs)

    def __call__(self, x, cache, first):
        """Activations (N, T, D) of the tokens from place ``first`` on, and the cache."""
        n, t, _ = x.shape
        # Queries (N, T, 4, D / 4), keys and values (N, T, 2, D / 4).
        q = rotate(self.q(x).reshape(n, t, HEADS, -1), first)
        k = rotate(self.k(x).reshape(n, t, KEY_HEADS, -1), first)
        v = self.v(x).reshape(n, t, KEY_HEADS, -1)
        mixed, cache = attend(q, k, v, cache, first)  # queries 0 and 1 take key 0, 2 and 3 key 1
        return self.out(mixed.reshape(n, t, WIDTH)), cache


class MLP(nnx.Module):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self, rngs):
        self.gate = nnx.Linear(WIDTH, HIDDEN, use_bias=False, rngs=rngs)
        self.up = nnx.Linear(WIDTH, HIDDEN, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(HIDDEN, WIDTH, use_bias=False, rngs=rngs)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(nnx.silu(self.gate(x)) * self.up(x))  # (N, T, 344) between


class Block(nnx.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self, rngs):
        self.norm1 = nnx.RMSNorm(WIDTH, epsilon=EPSILON, rngs=rngs)  # 1e-6 by default
        self.attention = Attention(rngs)
        self.norm2 = nnx.RMSNorm(WIDTH, epsilon=EPSILON, rngs=rngs)
        self.mlp = MLP(rngs)

    def __call__(self, x, cache, first):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache, first)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class Llama(nnx.Module):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self, rngs):
        self.tokens = nnx.Embed(WORDS, WIDTH, rngs=rngs)
        self.blocks = nnx.List(Block(rngs) for _ in range(BLOCKS))
        self.norm = nnx.RMSNorm(WIDTH, epsilon=EPSILON, rngs=rngs)
        self.head = nnx.Linear(WIDTH, WORDS, use_bias=False, rngs=rngs)

    def __call__(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        x, new = self.tokens(tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache, first)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return Llama(nnx.Rngs(settings["seed"]))


def cross_entropy(scores, targets):
    """The mean over all targets of the batch that count."""
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, targets)  # (N, T)
    return losses.mean(where=targets != IGNORED)


def loss(network, settings, hp, weights):
    """The model: network, optimiser and loss, with the initial weights."""
    put(network, weights)
    return network, optimizer_of(network, hp), cross_entropy


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    return float(cross_entropy(scores[:, : targets.shape[1]], targets))
