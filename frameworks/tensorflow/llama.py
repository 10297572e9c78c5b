"""The Llama in TensorFlow 2, below Keras.

Idiom: ``tf.Module`` blocks that write attention, rotation and normalisation out; a ``GradientTape``
    in a ``tf.function``.
Layout: tokens (N, T), activations (N, T, D), queries (N, 4, T, D / 4), keys (N, 2, T, D / 4);
    kernels (in, out).
Rotary positions: feature i is rotated with feature i + d / 2, by ``place * 10000 ** (-2 i / d)``.
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``,
    c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the loss knows no ignored target: -100 is an error on a CPU, but NaN on a GPU and wherever
    XLA compiles the step. The embedding's gradient is ``IndexedSlices`` here, whose norm is wrong
    until they are made dense.
"""

import numpy as np
import tensorflow as tf

from frameworks.tensorflow.cnn import train, wait
from frameworks.tensorflow.gpt import (
    BLOCKS,
    HEADS,
    WIDTH,
    WORDS,
    adamw,
    attend,
    configure,
    graphs,
    load,
    predict,
    put,
    split,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

KEY_HEADS, HIDDEN = 2, 344
BASE, IGNORED = 10000, -100


def kernel(name, *shape):
    """A layer's kernel (in, out); no layer has a bias."""
    return tf.Variable(tf.zeros(shape), name=name + ".weight")


class RMSNorm(tf.Module):
    """Divide each place's features by their root mean square; scale them."""

    def __init__(self, name):
        super().__init__()
        self.scale = tf.Variable(tf.ones(WIDTH), name=name + ".weight")

    def __call__(self, x):
        """Activations (N, T, D)."""
        return x * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5) * self.scale


def rotate(x, first):
    """Rotate queries or keys (N, H, T, d) by their places, which begin at ``first``."""
    d = x.shape[-1]
    frequencies = tf.constant(BASE ** (-np.arange(0, d, 2) / d), tf.float32)  # (d / 2,)
    places = tf.cast(first + tf.range(tf.shape(x)[2]), tf.float32)
    angles = places[:, None] * frequencies  # (T, d / 2)
    cos, sin = tf.cos(angles), tf.sin(angles)
    left, right = tf.split(x, 2, -1)
    return tf.concat([left * cos - right * sin, right * cos + left * sin], -1)


class Block(tf.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self, name):
        super().__init__()
        narrow = WIDTH * KEY_HEADS // HEADS
        self.norm1 = RMSNorm(name + "norm1")
        self.q = kernel(name + "attention.q", WIDTH, WIDTH)
        self.k = kernel(name + "attention.k", WIDTH, narrow)
        self.v = kernel(name + "attention.v", WIDTH, narrow)
        self.out = kernel(name + "attention.out", WIDTH, WIDTH)
        self.norm2 = RMSNorm(name + "norm2")
        self.gate = kernel(name + "mlp.gate", WIDTH, HIDDEN)
        self.up = kernel(name + "mlp.up", WIDTH, HIDDEN)
        self.down = kernel(name + "mlp.down", HIDDEN, WIDTH)

    def __call__(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        first = 0 if cache is None else tf.shape(cache[0])[2]
        h = self.norm1(x)
        # Queries (N, 4, T, D / 4), keys and values (N, 2, T, D / 4).
        q = rotate(split(tf.tensordot(h, self.q, 1), HEADS), first)
        k = rotate(split(tf.tensordot(h, self.k, 1), KEY_HEADS), first)
        v = split(tf.tensordot(h, self.v, 1), KEY_HEADS)
        if cache is not None:
            k, v = (tf.concat(pair, 2) for pair in zip(cache, (k, v)))
        shared = (tf.repeat(part, HEADS // KEY_HEADS, 1) for part in (k, v))  # heads 0 0 1 1
        x += tf.tensordot(attend(q, *shared), self.out, 1)
        h = self.norm2(x)
        hidden = tf.nn.silu(tf.tensordot(h, self.gate, 1)) * tf.tensordot(h, self.up, 1)
        return x + tf.tensordot(hidden, self.down, 1), (k, v)


class Llama(tf.Module):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        super().__init__()
        self.tokens = kernel("tokens", WORDS, WIDTH)
        self.blocks = [Block("blocks.%d." % number) for number in range(BLOCKS)]
        self.norm = RMSNorm("norm")
        self.head = kernel("head", WIDTH, WORDS)

    def __call__(self, tokens, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        x, new = tf.gather(self.tokens, tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, cache)
            new.append(cache)
        return tf.tensordot(self.norm(x), self.head, 1), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return Llama()


def cross_entropy(targets, scores):
    """The mean over the targets that count."""
    counted = tf.not_equal(targets, IGNORED)
    targets = tf.where(counted, targets, 0)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, scores)  # (N, T)
    weights = tf.cast(counted, tf.float32)
    return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)


def loss(network, settings, hp, weights):
    """The model: network, training step and generating step, with the initial weights."""
    variables = network.trainable_variables
    put(variables, weights)
    update = adamw(variables, hp)

    def step(x, y):
        with tf.GradientTape() as tape:
            scores, _ = network(x)  # (N, T, 65)
            step_loss = cross_entropy(y, scores)
        gradients = tape.gradient(step_loss, variables)
        update([tf.convert_to_tensor(g) for g in gradients])  # the embedding's made dense
        return step_loss

    return graphs(network, step, settings)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given and count."""
    return float(cross_entropy(targets, scores[:, : targets.shape[1]]))
