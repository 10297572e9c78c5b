"""The GPT in MLX.

Idiom: ``nn.Module`` blocks, ``mx.fast.scaled_dot_product_attention``, ``nn.value_and_grad``; a
    ``MultiOptimizer`` of two AdamWs with the same schedule.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H).
Compilation: only on a GPU. On a CPU, ``mx.compile`` has each fused kernel built by a C++ compiler,
    which takes minutes for this network and gains nothing.
AdamW: ``w = w * (1 - lr * decay) - lr / c1 * m / (sqrt(v) / sqrt(c2) + epsilon)``, c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: nothing is checked: a token beyond the vocabulary reads the memory after the embedding.
    On a CPU a sum adds up one number after the other in float32, so the mean of tens of thousands
    of losses is wrong in the sixth digit; here each text's mean is taken first.
"""

import math

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np

from frameworks.mlx import mlp
from frameworks.mlx.cnn import compiled, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, but for the layout, and compiled only on a GPU."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NT")
    return dict(settings, compile=settings["compile"] and settings["device"] != "cpu")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


class Attention(nn.Module):
    """Causal self-attention; with a cache, only for the token after those that it holds."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def __call__(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        n, t, _ = x.shape
        qkv = self.qkv(x).reshape(n, t, 3, HEADS, -1)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)  # (N, H, T, D / H) each
        if cache is not None:
            k, v = [mx.concatenate(pair, axis=2) for pair in zip(cache, (k, v))]
        mask = "causal" if cache is None else None  # a single new token may look at all
        scale = 1 / math.sqrt(WIDTH // HEADS)
        mixed = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(n, t, WIDTH)), (k, v)


class MLP(nn.Module):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(nn.gelu_approx(self.up(x)))  # (N, T, 4 D) between


class Block(nn.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)  # epsilon 1e-5, inside the root
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def __call__(self, x, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(nn.Module):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = nn.LayerNorm(WIDTH)

    def __call__(self, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        places = mx.arange(first, first + tokens.shape[1])
        x, new = self.tokens(tokens) + self.positions(places), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache)
            new.append(cache)
        return self.tokens.as_linear(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return GPT()


def rate_of(hp):
    """The schedule: a warm-up, whose step t has the rate of t + 1; then half a cosine."""
    first = hp.learning_rate / hp.warmup
    warmup = optim.linear_schedule(first, hp.learning_rate + first, hp.warmup)
    cosine = optim.cosine_decay(hp.learning_rate, hp.steps - hp.warmup, hp.last_rate)
    return optim.join_schedules([warmup, cosine], [hp.warmup])


def optimizer_of(hp):
    """AdamW, which decays matrices and embeddings alone."""
    rest = dict(betas=[hp.beta1, hp.beta2], eps=hp.epsilon, bias_correction=True)  # off by default
    decaying = optim.AdamW(rate_of(hp), weight_decay=hp.weight_decay, **rest)  # times the rate
    others = optim.AdamW(rate_of(hp), weight_decay=0.0, **rest)
    return optim.MultiOptimizer([decaying, others], [lambda name, w: w.ndim > 1])


def step_of(network, optimizer, mean_loss, clip):
    """A training step: loss, gradients, their clipping, and the update."""
    loss_and_gradients = nn.value_and_grad(network, mean_loss)  # not of x

    def step(x, y):
        step_loss, gradients = loss_and_gradients(x, y)
        gradients, _ = optim.clip_grad_norm(gradients, clip)  # returns them, and the norm
        optimizer.update(network, gradients)
        return step_loss

    return step


def cross_entropy(scores, targets):
    """The mean over all places."""
    losses = nn.losses.cross_entropy(scores, targets)  # (N, T)
    return losses.mean(axis=1).mean()  # in two steps, to round less often


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    optimizer = optimizer_of(hp)

    def mean_loss(x, y):
        scores, _ = network(x)  # (N, T, 65)
        return cross_entropy(scores, y)

    return compiled(network, optimizer, step_of(network, optimizer, mean_loss, hp.clip), settings)


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    network, half = model[0], x.shape[1] // 2
    network.eval()
    outputs = []
    for first in range(0, len(x), 64):
        part = mx.array(x[first : first + 64])
        scores = [network(part)[0]]  # (N, T, 65)
        last, caches = network(part[:, :half])
        for place in range(half, 2 * half):
            token = mx.argmax(last[:, -1:], axis=-1)  # greedy
            last, caches = network(token, caches, place)  # (N, 1, 65)
            scores.append(last)
        outputs.append(np.array(mx.concatenate(scores, axis=1)))
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    return cross_entropy(mx.array(scores[:, : targets.shape[1]]), mx.array(targets)).item()
