"""The GPT in tinygrad.

Idiom: plain classes whose ``__call__`` builds a lazy graph; ``scaled_dot_product_attention`` is a
    method of the queries. An ``OptimizerGroup`` of two AdamWs; clipping and the schedule by hand.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H).
Cache: ``TinyJit`` records fixed shapes, so it has a place for each token to come, too. Each step
    assigns to one place, and a mask hides those that are still empty.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t, in float32.
Surprise: ``gelu()`` is the approximation with a tanh by default, not the exact one. A rate that is
    set as a number is recorded with the step, for good: it has to be assigned to ``lr``, a tensor.
"""

import itertools
import math

import numpy as np
from tinygrad import Context, Tensor, TinyJit, nn

from frameworks.tinygrad import mlp
from frameworks.tinygrad.cnn import ROWS, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


class Attention:
    """Causal self-attention; with a cache, only for the token at one place."""

    def __init__(self):
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def __call__(self, x, cache, place):
        """Activations (N, T, D)."""
        n, t, _ = x.shape
        qkv = self.qkv(x).reshape(n, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]  # (N, H, T, D / H) each
        if cache is None:
            mixed = q.scaled_dot_product_attention(k, v, is_causal=True)
        else:
            places = Tensor.arange(CONTEXT)
            here = (places == place).unsqueeze(1)
            k, v = [kept.assign(here.where(new, kept)) for kept, new in zip(cache, (k, v))]
            mixed = q.scaled_dot_product_attention(k, v, places <= place)  # True: is seen
        return self.out(mixed.transpose(1, 2).reshape(n, t, WIDTH))


class MLP:
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x):
        """Activations (N, T, D)."""
        return self.down(self.up(x).gelu())  # (N, T, 4 D) between


class Block:
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        self.norm1 = nn.LayerNorm(WIDTH)  # epsilon 1e-5, inside the root
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def __call__(self, x, cache, place):
        """Activations (N, T, D)."""
        x = x + self.attention(self.norm1(x), cache, place)
        return x + self.mlp(self.norm2(x))


class GPT:
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = nn.LayerNorm(WIDTH)

    def __call__(self, tokens, caches=(None,) * BLOCKS, place=None):
        """Scores (N, T, 65) of the tokens; with caches, of the one token at ``place`` (1,)."""
        places = Tensor.arange(tokens.shape[1]) if place is None else place
        x = self.tokens(tokens) + self.positions(places)  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache, place)
        return self.norm(x) @ self.tokens.weight.T


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return GPT()


def rate_of(step, hp):
    """The rate of a step, from 0: a warm-up, then half a cosine."""
    if step < hp.warmup:
        return hp.learning_rate * (step + 1) / hp.warmup
    share = min(1, (step - hp.warmup) / (hp.steps - hp.warmup))
    return hp.last_rate + (hp.learning_rate - hp.last_rate) * (1 + math.cos(math.pi * share)) / 2


def optimizer_of(parameters, hp):
    """AdamW, which decays matrices and embeddings alone."""
    rest = dict(b1=hp.beta1, b2=hp.beta2, eps=hp.epsilon)
    matrices = [w for w in parameters if w.ndim > 1]
    vectors = [w for w in parameters if w.ndim == 1]
    decaying = nn.optim.AdamW(matrices, weight_decay=hp.weight_decay, **rest)  # times the rate
    others = nn.optim.AdamW(vectors, weight_decay=0.0, **rest)  # 0.01 by default
    return nn.optim.OptimizerGroup(decaying, others)


def step_of(network, mean_loss, hp):
    """A training step: its rate, loss, gradients, their clipping, and the update."""
    parameters = nn.state.get_parameters(network)  # the tied weight once
    optimizer, steps = optimizer_of(parameters, hp), itertools.count()

    @TinyJit
    @Context(TRAINING=1)  # without it, the optimiser refuses to step
    def update(x, y):
        optimizer.zero_grad()
        step_loss = mean_loss(network(x), y)
        step_loss.backward()  # not for x
        norm = sum(w.grad.square().sum() for w in parameters).sqrt()
        for w in parameters:
            w.grad = w.grad * (hp.clip / norm).minimum(1)
        return step_loss.realize(*optimizer.schedule_step())

    def step(x, y):
        rate = Tensor([rate_of(next(steps), hp)])
        for part in optimizer.optimizers:
            part.lr.assign(rate).realize()
        return update(x, y)

    return step


def recorded(network, heads):
    """(scores of all places, scores of the token at one place with a cache) of ``ROWS`` texts.

    heads: how many the keys and values have.
    """
    shape = (ROWS, heads, CONTEXT, WIDTH // HEADS)
    caches = [
        [Tensor.zeros(*shape).contiguous().realize() for _ in ("keys", "values")]
        for _ in range(BLOCKS)
    ]

    @TinyJit
    def forward(tokens):
        return network(tokens).realize()

    @TinyJit
    def following(token, place):
        return network(token, caches, place).realize()

    return forward, following


def cross_entropy(scores, targets):
    """The mean over all places."""
    return scores.sparse_categorical_crossentropy(targets)


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    return network, step_of(network, cross_entropy, hp), recorded(network, HEADS)


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    (forward, following), half = model[2], x.shape[1] // 2
    outputs, last = [], None
    for first in range(0, len(x), ROWS):
        part = np.zeros((ROWS,) + x.shape[1:], np.int32)  # as argmax() gives
        part[: len(x) - first] = x[first : first + ROWS]
        scores = [forward(Tensor(part).realize()).numpy()]  # (N, T, 65)
        for place in range(2 * half):
            given = Tensor(part[:, place : place + 1])
            token = given if place < half else last.argmax(-1)  # greedy
            last = following(token.realize(), Tensor([place]).realize())  # (N, 1, 65)
            if place >= half:
                scores.append(last.numpy())
        outputs.append(np.concatenate(scores, axis=1))
    return np.concatenate(outputs)[: len(x)]


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given, targets = Tensor(scores[:, : targets.shape[1]]), Tensor(targets)
    losses = given.sparse_categorical_crossentropy(targets, reduction="none")  # (n, T)
    return losses.mean(axis=1).numpy().mean().item()  # a single sum rounds more often
