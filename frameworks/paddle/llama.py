"""The Llama in PaddlePaddle.

Idiom: ``nn.Layer`` blocks; ``scaled_dot_product_attention`` takes fewer heads of keys and values
    than of queries, ``F.swiglu`` both of its factors.
Layout: tokens (N, T), activations (N, T, D), queries (N, T, 4, D / 4), keys (N, T, 2, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, as in transformers; Meta's own code
    rotates neighbours, and its weights must be permuted.
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t,
    1 - beta2**t.
Surprise: ``F.rms_norm`` runs only on GPUs. ``fused_rotary_position_embedding`` rotates neighbours
    with ``use_neox_rotary_style=True``, its default; elsewhere, that name means halves.
"""

import paddle
import paddle.nn.functional as F
from paddle import nn

from frameworks.paddle.cnn import wait
from frameworks.paddle.gpt import (
    compiled,
    configure,
    load,
    losses,
    optimizer_of,
    predict,
    put,
    train,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, WIDTH, HEADS, KEY_HEADS, BLOCKS, HIDDEN = 65, 128, 4, 2, 4, 344
BASE, EPSILON, IGNORED = 10000, 1e-5, -100


def linear(inputs, outputs):
    """A dense layer without a bias."""
    return nn.Linear(inputs, outputs, bias_attr=False)


def rotate(x, first):
    """Rotate queries or keys (N, T, H, d) by their places, which begin at ``first``."""
    _, t, _, d = x.shape
    frequencies = BASE ** (-paddle.arange(0, d, 2, dtype="float32") / d)  # (d / 2,)
    places = paddle.arange(first, first + t, dtype="float32")
    angles = paddle.outer(places, frequencies).unsqueeze(1)  # (T, 1, d / 2)
    cos, sin = angles.cos(), angles.sin()
    left, right = x.chunk(2, -1)
    return paddle.concat([left * cos - right * sin, right * cos + left * sin], -1)


class RMSNorm(nn.Layer):
    """Features divided by their root mean square, and scaled."""

    def __init__(self):
        super().__init__()
        ones = nn.initializer.Constant(1.0)  # the default is random
        self.weight = self.create_parameter([WIDTH], default_initializer=ones)

    def forward(self, x):
        """Activations (N, T, D)."""
        return x * paddle.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * self.weight


class Attention(nn.Layer):
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self):
        super().__init__()
        narrow = WIDTH * KEY_HEADS // HEADS
        self.q = linear(WIDTH, WIDTH)
        self.k = linear(WIDTH, narrow)
        self.v = linear(WIDTH, narrow)
        self.out = linear(WIDTH, WIDTH)

    def forward(self, x, cache, first):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        # 0 keeps an axis: queries (N, T, 4, D / 4), keys and values (N, T, 2, D / 4).
        q = rotate(self.q(x).reshape([0, 0, HEADS, WIDTH // HEADS]), first)
        k = rotate(self.k(x).reshape([0, 0, KEY_HEADS, WIDTH // HEADS]), first)
        v = self.v(x).reshape([0, 0, KEY_HEADS, WIDTH // HEADS])
        if cache is not None:
            k, v = paddle.concat([cache[0], k], 1), paddle.concat([cache[1], v], 1)
        # Queries 0 and 1 take key 0, 2 and 3 key 1.
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out(mixed.flatten(2)), (k, v)


class MLP(nn.Layer):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self):
        super().__init__()
        self.gate = linear(WIDTH, HIDDEN)
        self.up = linear(WIDTH, HIDDEN)
        self.down = linear(HIDDEN, WIDTH)

    def forward(self, x):
        """Activations (N, T, D)."""
        return self.down(F.swiglu(self.gate(x), self.up(x)))  # (N, T, 344) between


class Block(nn.Layer):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = RMSNorm()
        self.attention = Attention()
        self.norm2 = RMSNorm()
        self.mlp = MLP()

    def forward(self, x, cache, first):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), cache, first)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class Llama(nn.Layer):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.LayerList([Block() for _ in range(BLOCKS)])
        self.norm = RMSNorm()
        self.head = linear(WIDTH, WORDS)

    def forward(self, tokens):
        """Scores (N, T, 65) of the token after each of whole texts."""
        return self.go_on(tokens, [None] * BLOCKS, 0)[0]

    def go_on(self, tokens, caches, first):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        x, new = self.tokens(tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches):
            x, cache = block(x, cache, first)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return compiled(Llama(), settings)


def cross_entropy(scores, targets):
    """The mean over all targets of the batch that count; -100 is ignored by default."""
    counted = (targets != IGNORED).sum()
    return losses(scores, targets).sum() / counted


def loss(network, settings, hp, weights):
    """The model: network, loss, optimiser and schedule, with the initial weights."""
    put(network, weights)
    optimizer, schedule = optimizer_of(network, hp)
    return network, cross_entropy, optimizer, schedule


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given and count."""
    given = paddle.to_tensor(scores)[:, : targets.shape[1]]
    return cross_entropy(given, paddle.to_tensor(targets)).item()
