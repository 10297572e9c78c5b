"""The GPT in TensorFlow 2, below Keras.

Idiom: ``tf.Module`` blocks that write attention and normalisation out; a ``GradientTape`` in a
    ``tf.function``, whose Python runs once, to record a graph.
Layout: tokens (N, T), activations (N, T, D), heads (N, H, T, D / H); kernels (in, out).
AdamW: ``w = w - lr * decay * w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``,
    c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``tf.gather`` gives its gradient as ``IndexedSlices``, a row for each use, and
    ``tf.linalg.global_norm`` counts a row that was used twice as two rows. Adding the head's
    gradient makes the tied weight's dense; the positions are sliced, not gathered.
"""

import math

import numpy as np
import tensorflow as tf

from frameworks.tensorflow import mlp
from frameworks.tensorflow.cnn import layer, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4
EMBEDDINGS = ("tokens.weight", "positions.weight")


def configure(lane, threads, seed):
    """As for the MLP, but for the layout, and for XLA, which lane best has on a CPU too."""
    settings = mlp.configure(lane, threads, seed)
    return dict(settings, layout="NT", jit=lane == "best")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


def dense(x, weights):
    """Activations (N, T, out) of (N, T, in)."""
    kernel, bias = weights
    # The backward pass of ``tf.matmul`` would make N gradients of the kernel, and add them up.
    return tf.tensordot(x, kernel, 1) + bias


class LayerNorm(tf.Module):
    """Give each place's features mean 0 and variance 1; scale and shift them."""

    def __init__(self, name):
        super().__init__()
        self.scale = tf.Variable(tf.ones(WIDTH), name=name + ".weight")
        self.shift = tf.Variable(tf.zeros(WIDTH), name=name + ".bias")

    def __call__(self, x):
        """Activations (N, T, D)."""
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.shift, self.scale, 1e-5)


def split(x, heads):
    """(N, T, heads d) as (N, heads, T, d)."""
    return tf.transpose(tf.reshape(x, (-1, tf.shape(x)[1], heads, WIDTH // HEADS)), (0, 2, 1, 3))


def attend(q, k, v):
    """Attention (N, T, D) of queries (N, H, T, d), the last T places, to all keys and values."""
    scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(WIDTH // HEADS)  # (N, H, T, past + T)
    t, past_and_t = tf.shape(scores)[2], tf.shape(scores)[3]
    seen = tf.sequence_mask(past_and_t - t + 1 + tf.range(t), past_and_t)  # True keeps
    shares = tf.nn.softmax(tf.where(seen, scores, -math.inf))
    return tf.reshape(tf.transpose(tf.matmul(shares, v), (0, 2, 1, 3)), (-1, t, WIDTH))


class Block(tf.Module):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self, name):
        super().__init__()
        self.norm1 = LayerNorm(name + "norm1")
        self.qkv = layer(name + "attention.qkv", WIDTH, 3 * WIDTH)
        self.out = layer(name + "attention.out", WIDTH, WIDTH)
        self.norm2 = LayerNorm(name + "norm2")
        self.up = layer(name + "mlp.up", WIDTH, 4 * WIDTH)
        self.down = layer(name + "mlp.down", 4 * WIDTH, WIDTH)

    def __call__(self, x, cache=None):
        """Activations (N, T, D), and the keys and values of all tokens so far."""
        q, k, v = (split(part, HEADS) for part in tf.split(dense(self.norm1(x), self.qkv), 3, 2))
        if cache is not None:
            k, v = (tf.concat(pair, 2) for pair in zip(cache, (k, v)))
        x += dense(attend(q, k, v), self.out)
        hidden = tf.nn.gelu(dense(self.norm2(x), self.up), approximate=True)  # (N, T, 4 D)
        return x + dense(hidden, self.down), (k, v)


class GPT(tf.Module):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__()
        self.tokens = tf.Variable(tf.zeros((WORDS, WIDTH)), name="tokens.weight")
        self.positions = tf.Variable(tf.zeros((CONTEXT, WIDTH)), name="positions.weight")
        self.blocks = [Block("blocks.%d." % number) for number in range(BLOCKS)]
        self.norm = LayerNorm("norm")

    def __call__(self, tokens, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        first = 0 if caches is None else tf.shape(caches[0][0])[2]
        places = self.positions[first : first + tf.shape(tokens)[1]]
        x, new = tf.gather(self.tokens, tokens) + places, []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, cache)
            new.append(cache)
        return tf.tensordot(self.norm(x), tf.transpose(self.tokens), 1), new


def symbol(settings, hp):
    """The network: scores of the next token at each place."""
    return GPT()


def canonical(name, w):
    """The matrix that is (in, out) here and (out, in) there, or the other way round."""
    return w if name in EMBEDDINGS else w.T


def put(variables, weights):
    """Copy the canonical weights into the variables with the same names."""
    for variable in variables:
        name = variable.name[: -len(":0")]
        variable.assign(canonical(name, weights[name]))


def adamw(variables, hp):
    """The function that moves the variables by their gradients."""
    means = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    squares = [tf.Variable(tf.zeros_like(variable)) for variable in variables]
    steps = tf.Variable(0.0, dtype=tf.float64)

    def rate():
        part = tf.clip_by_value((steps - hp.warmup) / (hp.steps - hp.warmup), 0, 1)
        cosine = hp.last_rate + (hp.learning_rate - hp.last_rate) * (1 + tf.cos(math.pi * part)) / 2
        warm = hp.learning_rate * (steps + 1) / hp.warmup
        return tf.cast(tf.where(steps < hp.warmup, warm, cosine), tf.float32)

    def update(gradients):
        gradients, _ = tf.clip_by_global_norm(gradients, hp.clip)
        lr = rate()
        steps.assign_add(1)
        correction1, correction2 = (
            tf.cast(1 - tf.constant(beta, tf.float64) ** steps, tf.float32)
            for beta in (hp.beta1, hp.beta2)
        )
        for w, m, v, g in zip(variables, means, squares, gradients):
            m.assign_add((1 - hp.beta1) * (g - m))
            v.assign_add((1 - hp.beta2) * (g * g - v))
            if w.shape.rank > 1:  # neither biases nor normalisations decay
                w.assign_sub(lr * hp.weight_decay * w)
            w.assign_sub(lr * (m / correction1) / (tf.sqrt(v / correction2) + hp.epsilon))

    return update


def loss(network, settings, hp, weights):
    """The model: network, training step and generating step, with the initial weights."""
    variables = network.trainable_variables
    put(variables, weights)
    update = adamw(variables, hp)

    def step(x, y):
        with tf.GradientTape() as tape:
            scores, _ = network(x)  # (N, T, 65)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)  # (N, T)
            step_loss = tf.reduce_mean(losses)
        update(tape.gradient(step_loss, variables))
        return step_loss

    return graphs(network, step, settings)


def graphs(network, step, settings):
    """The model: the network, its training step, and its scores with caches as graphs."""

    def forward(tokens, caches=None):
        return network(tokens, caches)

    step = tf.function(step, jit_compile=settings["jit"])
    forward = tf.function(forward, reduce_retracing=True)  # XLA would compile each cache's length
    return network, step, forward


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    forward, half = model[2], x.shape[1] // 2
    outputs = []
    for first in range(0, len(x), 64):
        part = x[first : first + 64]
        scores = [forward(part)[0]]  # (N, T, 65)
        last, caches = forward(part[:, :half])
        for _ in range(half):
            token = tf.argmax(last[:, -1:], -1)  # greedy
            last, caches = forward(token, caches)  # (N, 1, 65)
            scores.append(last)
        outputs.append(tf.concat(scores, 1).numpy())
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    given = scores[:, : targets.shape[1]]
    return float(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, given)))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    names = ((variable, variable.name[: -len(":0")]) for variable in model[0].trainable_variables)
    return {name: canonical(name, variable.numpy()).copy() for variable, name in names}
