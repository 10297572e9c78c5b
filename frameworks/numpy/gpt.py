"""The GPT in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``transformer.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H).
AdamW: clip; ``m``, ``v`` as Adam; ``w = w - lr * decay * w - lr * m / (sqrt(v) + epsilon)``.
Surprise: the head's weight is the embedding. Its gradient has two parts; clipping counts their sum.
"""

import numpy as np

from frameworks.numpy import mlp
from frameworks.numpy.cnn import train, wait, weights
from frameworks.numpy.layers import Dense, Residual, put, to_numpy, xp
from frameworks.numpy.optimizers import AdamW
from frameworks.numpy.transformer import (
    GELU,
    Embedding,
    FusedAttention,
    LayerNorm,
    Past,
    Positions,
    TiedHead,
    cross_entropy,
    generate,
    scores_of,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

HEADS, BLOCKS, ROWS = 4, 4, 32  # rows that are predicted at a time


def configure(lane, threads, seed):
    """As for the MLP, but for the layout; there are no pools."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NT")
    del settings["ties"]
    return settings


def load(sequences, targets, settings):
    """Tokens (n, T) and the token after each (n, T), as they are."""
    return sequences, targets


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    past = Past()
    tokens = Embedding(settings, "tokens", tied=True)
    network = [tokens, Positions(settings, "positions", past)]  # (N, T, 128)
    for number in range(BLOCKS):
        block = "blocks.%d." % number
        attention = FusedAttention(settings, block + "attention", HEADS, past)
        mlp = [
            Dense(settings, block + "mlp.up"),  # (N, T, 512)
            GELU(settings),
            Dense(settings, block + "mlp.down"),  # (N, T, 128)
        ]
        network += [
            Residual(settings, [LayerNorm(settings, block + "norm1"), attention]),
            Residual(settings, [LayerNorm(settings, block + "norm2"), *mlp]),
        ]
    return network + [LayerNorm(settings, "norm"), TiedHead(settings, tokens)]  # (N, T, 65)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    return network, cross_entropy, AdamW(network, hp, settings)


def score(model, x):
    """Scores (n, T, 65) of the token after each place."""
    parts = [x[first : first + ROWS] for first in range(0, len(x), ROWS)]
    return np.concatenate([to_numpy(scores_of(model[0], part)) for part in parts])


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    half = x.shape[1] // 2
    return np.concatenate([score(model, x), generate(model[0], x[:, :half], half)], 1)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    value, _ = cross_entropy(xp.asarray(scores[:, : targets.shape[1]]), xp.asarray(targets))
    return float(value)
