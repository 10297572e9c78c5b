"""The Llama in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: layers made of layers, and two models of them: one is trained on whole texts, by ``compile``
    and ``train_on_batch``; one generates with a cache, by ``predict_on_batch``.
Layout: tokens (N, T), activations (N, T, D), queries (N, T, 4, D / 4), keys (N, T, 2, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, by ``place * 10000 ** (-2 i / d)``.
AdamW: ``w = w - lr * decay * w; w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where
    c1, c2 = 1 - beta1**t, 1 - beta2**t: epsilon is added before v is corrected.
Ignored targets: ``ignore_class`` divides by the number of targets that count; ``sample_weight`` of
    0 and 1 divides by the number of all.
Surprise: on TensorFlow an embedding's gradient has a row for each use of a token. For the norm and
    for AdamW, Keras squares each row alone, not a token's sum; here the sum is taken first.
"""

import keras
from keras import layers, ops

from frameworks.keras.gpt import (
    BLOCKS,
    CONTEXT,
    HEADS,
    WIDTH,
    WORDS,
    canonical,
    configure,
    load,
    models,
    named,
    optimizer_of,
    predict,
    remember,
    train,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

KEY_HEADS, HIDDEN = 2, 344
PARTS = (
    *("norm1", "attention.q", "attention.k", "attention.v", "attention.out"),
    *("norm2", "mlp.gate", "mlp.up", "mlp.down"),
)
BASE, EPSILON, IGNORED = 10000.0, 1e-5, -100


def linear(features):
    """A dense layer without a bias."""
    return layers.Dense(features, use_bias=False)


def rotate(x, places):
    """Rotate queries or keys (N, T, H, d) by their places (N, T)."""
    d = WIDTH // HEADS
    frequencies = BASE ** (-ops.arange(0, d, 2, dtype="float32") / d)  # (d / 2,)
    angles = ops.cast(places, "float32")[:, :, None, None] * frequencies  # (N, T, 1, d / 2)
    cos, sin = ops.cos(angles), ops.sin(angles)
    left, right = ops.split(x, 2, -1)
    return ops.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


class Attention(layers.Layer):
    """Causal attention of four heads that share two heads of keys and values."""

    def __init__(self):
        super().__init__()
        self.q = linear(WIDTH)
        self.k = linear(WIDTH * KEY_HEADS // HEADS)
        self.v = linear(WIDTH * KEY_HEADS // HEADS)
        self.heads = layers.Reshape((-1, HEADS, WIDTH // HEADS))
        self.key_heads = layers.Reshape((-1, KEY_HEADS, WIDTH // HEADS))
        self.join = layers.Reshape((-1, WIDTH))
        self.out = linear(WIDTH)

    def call(self, x, places, cache=None):
        """Activations (N, T, D), and keys and values, also those of the cache."""
        # Queries (N, T, 4, D / 4), keys and values (N, T, 2, D / 4).
        q = rotate(self.heads(self.q(x)), places)
        k, v = rotate(self.key_heads(self.k(x)), places), self.key_heads(self.v(x))
        if cache is None:  # queries 0 and 1 take key 0, 2 and 3 key 1
            mixed = ops.dot_product_attention(q, k, v, is_causal=True)
        else:
            k, v = (remember(*pair, places) for pair in zip(cache, (k, v)))
            seen = ops.greater_equal(places[:, None, :, None], ops.arange(CONTEXT))  # True keeps
            mixed = ops.dot_product_attention(q, k, v, mask=seen)
        return self.out(self.join(mixed)), [k, v]


class MLP(layers.Layer):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""

    def __init__(self):
        super().__init__()
        self.gate = linear(HIDDEN)
        self.up = linear(HIDDEN)
        self.down = linear(WIDTH)

    def call(self, x):
        """Activations (N, T, D)."""
        return self.down(ops.silu(self.gate(x)) * self.up(x))  # (N, T, 344) between


class Block(layers.Layer):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = layers.RMSNormalization(epsilon=EPSILON)  # 1e-6 by default
        self.attention = Attention()
        self.norm2 = layers.RMSNormalization(epsilon=EPSILON)
        self.mlp = MLP()

    def call(self, x, places, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), places, cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class Llama(layers.Layer):
    """An embedding, blocks, a last normalisation, and a head with a weight of its own."""

    def __init__(self):
        super().__init__(name="network")
        self.tokens = layers.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = layers.RMSNormalization(epsilon=EPSILON)
        self.head = linear(WORDS)

    def call(self, tokens, places, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        x, new = self.tokens(tokens), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, places, cache)
            new.append(cache)
        return self.head(self.norm(x)), new


def symbol(settings, hp):
    """The network: scores of the next token at each place; and those after a cache."""
    return models(Llama(), KEY_HEADS)


def variables(network):
    """{canonical name: variable}."""
    return named(network[0].get_layer("network"), ("tokens", "norm", "head"), PARTS)


class AdamW(keras.optimizers.AdamW):
    """AdamW with dense gradients."""

    def apply(self, grads, trainable_variables=None):
        """Add up the rows of TensorFlow's gradient of the embedding."""
        # ``add`` makes IndexedSlices dense; ``ops.convert_to_tensor`` would leave them as they are.
        super().apply([ops.add(g, 0) for g in grads], trainable_variables)


def criterion():
    """The loss: the mean over the targets that count."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, variable in variables(network).items():
        variable.assign(canonical(name, weights[name]))
    network[0].compile(
        optimizer=optimizer_of(network[0], hp, AdamW), loss=criterion(), jit_compile=settings["jit"]
    )
    return network


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given and count."""
    return float(criterion()(targets, scores[:, : targets.shape[1]]))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    found = {name: ops.convert_to_numpy(w) for name, w in variables(model).items()}
    return {name: canonical(name, w).copy() for name, w in found.items()}


def wait(model):
    """Return when the device has finished: when the weights of the last step can be read."""
    weights(model)
