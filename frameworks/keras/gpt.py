"""The GPT in Keras 3, on whichever backend KERAS_BACKEND names: tensorflow, jax or torch.

Idiom: layers made of layers, and two models of them: one is trained on whole texts, by ``compile``
    and ``train_on_batch``; one generates with a cache, by ``predict_on_batch``.
Layout: tokens (N, T), activations (N, T, D), heads (N, T, H, D / H).
AdamW: ``w = w - lr * decay * w; w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where
    c1, c2 = 1 - beta1**t, 1 - beta2**t: epsilon is added before v is corrected.
Surprise: ``CosineDecay``'s warm-up begins at the rate that it is given and reaches the highest one
    a step after ``lr * (t + 1) / warmup`` does. The schedule here is a class of its own.
"""

import math
from operator import attrgetter

import keras
import numpy as np
from keras import layers, ops

from frameworks.keras import mlp

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WORDS, CONTEXT, WIDTH, HEADS, BLOCKS = 65, 64, 128, 4, 4
PARTS = ("norm1", "attention.qkv", "attention.out", "norm2", "mlp.up", "mlp.down")  # of a block
EMBEDDINGS = ("tokens.weight", "positions.weight")


def configure(lane, threads, seed):
    """As for the MLP, but for the layout; memory formats are for images."""
    settings = dict(mlp.configure(lane, threads, seed), layout="NT")
    if settings.pop("memory_format", None):
        settings["not_in_force"].remove("memory_format")
    return settings


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


def remember(cache, new, places):
    """A cache (N, CONTEXT, H, d) with new keys or values (N, T, H, d) at their places."""
    # All texts are at the same places.
    return ops.slice_update(cache, (0, places[0, 0], 0, 0), new)


class Attention(layers.Layer):
    """Causal self-attention; with a cache, only for the tokens after those that it holds."""

    def __init__(self):
        super().__init__()
        self.qkv = layers.Dense(3 * WIDTH)
        self.split = layers.Reshape((-1, 3 * HEADS, WIDTH // HEADS))
        self.join = layers.Reshape((-1, WIDTH))
        self.out = layers.Dense(WIDTH)

    def call(self, x, places, cache=None):
        """Activations (N, T, D), and keys and values, also those of the cache."""
        q, k, v = ops.split(self.split(self.qkv(x)), 3, 2)  # (N, T, H, D / H) each
        if cache is None:
            mixed = ops.dot_product_attention(q, k, v, is_causal=True)
        else:
            k, v = (remember(*pair, places) for pair in zip(cache, (k, v)))
            seen = ops.greater_equal(places[:, None, :, None], ops.arange(CONTEXT))  # True keeps
            mixed = ops.dot_product_attention(q, k, v, mask=seen)
        return self.out(self.join(mixed)), [k, v]


class MLP(layers.Layer):
    """Two dense layers with a GELU between them, by its approximation with a tanh."""

    def __init__(self):
        super().__init__()
        self.up = layers.Dense(4 * WIDTH)
        self.down = layers.Dense(WIDTH)

    def call(self, x):
        """Activations (N, T, D)."""
        return self.down(ops.gelu(self.up(x), approximate=True))  # (N, T, 4 D) between


class Block(layers.Layer):
    """Attention and an MLP, each after a normalisation and with a shortcut."""

    def __init__(self):
        super().__init__()
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)  # 1e-3 by default
        self.attention = Attention()
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.mlp = MLP()

    def call(self, x, places, cache=None):
        """Activations (N, T, D), and the block's cache."""
        mixed, cache = self.attention(self.norm1(x), places, cache)
        x = x + mixed
        return x + self.mlp(self.norm2(x)), cache


class GPT(layers.Layer):
    """Embeddings, blocks, a last normalisation, and a head that shares the embedding's weight."""

    def __init__(self):
        super().__init__(name="network")
        self.tokens = layers.ReversibleEmbedding(WORDS, WIDTH)  # tied by default
        self.positions = layers.Embedding(CONTEXT, WIDTH)
        self.blocks = [Block() for _ in range(BLOCKS)]
        self.norm = layers.LayerNormalization(epsilon=1e-5)

    def call(self, tokens, places, caches=None):
        """Scores (N, T, 65) of the token after each, and the blocks' caches."""
        x, new = self.tokens(tokens) + self.positions(places), []  # (N, T, D)
        for block, cache in zip(self.blocks, caches or [None] * BLOCKS):
            x, cache = block(x, places, cache)
            new.append(cache)
        return self.tokens(self.norm(x), reverse=True), new


class Ahead(keras.Model):
    """The same layers with caches, as a model of its own, whose predictions Keras compiles."""

    def __init__(self, network, heads):
        super().__init__()
        self.network = network
        self.kept = CONTEXT, heads, WIDTH // HEADS  # a fixed size, so that a step compiles once

    def empty(self, n):
        """Each block's cache for n texts: keys and values (n, CONTEXT, H, d)."""
        return [[np.zeros((n, *self.kept), "float32") for _ in range(2)] for _ in range(BLOCKS)]

    def call(self, inputs):
        """Scores (N, T, 65) of tokens at places (N, T), and caches that hold them too."""
        tokens, places, caches = inputs
        return self.network(tokens, places, caches)


def models(network, heads):
    """Two models of the same layers: of whole texts, and of tokens that continue a cache."""
    tokens = keras.Input((CONTEXT,), dtype="int32")
    # Places (1, T): of (N, T), the gradient in TensorFlow would be a row per text, not their sum.
    scores, _ = network(tokens, ops.arange(CONTEXT)[None])
    return keras.Model(tokens, scores), Ahead(network, heads)


def symbol(settings, hp):
    """The network: scores of the next token at each place; and those after a cache."""
    return models(GPT(), HEADS)


def variables(network):
    """{canonical name: variable}."""
    return named(network[0].get_layer("network"), ("tokens", "positions", "norm"), PARTS)


def named(network, outer, inner):
    """{canonical name: variable} of layers outside the blocks, and inside each."""
    parts = {name: getattr(network, name) for name in outer}
    for number, block in enumerate(network.blocks):
        parts.update(("blocks.%d.%s" % (number, part), attrgetter(part)(block)) for part in inner)
    return {
        "%s.%s" % (name, kind): variable
        for name, layer in parts.items()
        for kind, variable in zip(("weight", "bias"), layer.weights)
    }


def canonical(name, w):
    """The matrix that is (in, out) here and (out, in) there, or the other way round."""
    return w if name in EMBEDDINGS else w.T


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    """A linear warm-up, then half a cosine."""

    def __init__(self, hp):
        super().__init__()
        self.hp = hp

    def __call__(self, step):
        """The rate of a step, from 0."""
        hp, step = self.hp, ops.cast(step, "float32")
        part = ops.minimum(1.0, (step - hp.warmup) / (hp.steps - hp.warmup))
        half = (hp.learning_rate - hp.last_rate) / 2
        warm = hp.learning_rate * (step + 1) / hp.warmup
        return ops.where(
            step < hp.warmup, warm, hp.last_rate + half * (1 + ops.cos(math.pi * part))
        )


def optimizer_of(network, hp, AdamW=keras.optimizers.AdamW):
    """AdamW, which decays matrices and embeddings alone."""
    optimizer = AdamW(
        WarmupCosine(hp),
        weight_decay=hp.weight_decay,  # times the rate
        beta_1=hp.beta1,
        beta_2=hp.beta2,
        epsilon=hp.epsilon,
        global_clipnorm=hp.clip,  # ``clipnorm`` would clip each variable alone
    )
    vectors = [w for w in network.trainable_variables if len(w.shape) == 1]
    optimizer.exclude_from_weight_decay(var_list=vectors)
    return optimizer


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    for name, variable in variables(network).items():
        variable.assign(canonical(name, weights[name]))
    network[0].compile(
        optimizer=optimizer_of(network[0], hp),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # mean over all places
        jit_compile=settings["jit"],
    )
    return network


def train(model, batches):
    """One pass over the batches; yields the loss of each step, which Keras has waited for."""
    for x, y in batches:
        yield model[0].train_on_batch(x, y)


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    whole, ahead = model
    half, outputs = x.shape[1] // 2, []
    for first in range(0, len(x), 64):
        part = x[first : first + 64]
        scores = [whole.predict_on_batch(part)]  # (N, T, 65)
        places = np.tile(np.arange(half), (len(part), 1))
        last, caches = ahead.predict_on_batch([part[:, :half], places, ahead.empty(len(part))])
        for place in range(half, 2 * half):
            token = last[:, -1:].argmax(-1)  # greedy
            last, caches = ahead.predict_on_batch([token, np.full_like(token, place), caches])
            scores.append(last)  # (N, 1, 65)
        outputs.append(np.concatenate(scores, 1))
    return np.concatenate(outputs)


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    criterion = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return float(criterion(targets, scores[:, : targets.shape[1]]))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    found = {name: ops.convert_to_numpy(w) for name, w in variables(model).items()}
    return {name: canonical(name, w).copy() for name, w in found.items()}


def wait(model):
    """Return when the device has finished: when the weights of the last step can be read."""
    weights(model)
