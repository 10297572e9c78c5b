"""The GPT in JAX.

Idiom: the weights are a tree of arrays, the network a function of them; attention is
    ``jax.nn.dot_product_attention``, generation one compiled ``lax.scan``.
Layout: tokens (N, T), activations (N, T, D), heads (N, T, H, D / H).
Cache: arrays have fixed shapes under ``jax.jit``, so it has a place for each token to come, too;
    ``lax.dynamic_update_slice`` fills them, and a mask hides those that are still empty.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, written out; c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: nothing is checked: a token beyond the vocabulary has the last one's embedding, and a
    place beyond the context the last place's.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from frameworks.jax import mlp
from frameworks.jax.cnn import train, wait, weights
from frameworks.jax.mlp import start

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WIDTH, HEADS, BLOCKS = 128, 4, 4


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NT")


def load(sequences, targets, settings):
    """Tokens (n, T) int64 and the token after each (n, T), as they are."""
    return sequences, targets


def product(x, w):
    """``x @ w.T`` of activations (N, T, D) as rows: on a CPU, XLA is slower at three axes."""
    n, t, _ = x.shape
    return (x.reshape(n * t, -1) @ w.T).reshape(n, t, -1)


def dense(x, layer):
    """A dense layer."""
    return product(x, layer["weight"]) + layer["bias"]


def layer_norm(x, layer):
    """Features of mean 0 and variance 1, scaled and shifted."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * layer["weight"] + layer["bias"]


def attend(q, k, v, cache, first):
    """Causal attention of T tokens or, with a cache, of one token to all so far; and the cache."""
    if cache is None:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True), (k, v)
    k, v = (lax.dynamic_update_slice(old, x, (0, first, 0, 0)) for old, x in zip(cache, (k, v)))
    seen = jnp.arange(k.shape[1]) <= first  # True: is seen
    return jax.nn.dot_product_attention(q, k, v, mask=seen[None, None, None]), (k, v)


def attention(params, name, x, cache, first):
    """Causal self-attention of the tokens from place ``first`` on, and the cache after them."""
    n, t, _ = x.shape
    qkv = dense(x, params[name + ".qkv"]).reshape(n, t, 3, HEADS, -1)
    q, k, v = jnp.unstack(qkv, axis=2)  # (N, T, H, D / H) each
    mixed, cache = attend(q, k, v, cache, first)
    return dense(mixed.reshape(n, t, WIDTH), params[name + ".out"]), cache


def mlp_of(params, name, x):
    """Two dense layers with a GELU between them, which JAX approximates with a tanh by default."""
    return dense(jax.nn.gelu(dense(x, params[name + ".up"])), params[name + ".down"])


def symbol(settings, hp):
    """The network: scores of the next token at each place."""

    def network(params, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        positions = params["positions"]["weight"]
        positions = lax.dynamic_slice_in_dim(positions, first, tokens.shape[1])
        x, new = params["tokens"]["weight"][tokens] + positions, []  # (N, T, 128)
        for number, cache in enumerate(caches):
            block = f"blocks.{number}."
            y = layer_norm(x, params[block + "norm1"])
            y, cache = attention(params, block + "attention", y, cache, first)
            x = x + y
            x = x + mlp_of(params, block + "mlp", layer_norm(x, params[block + "norm2"]))
            new.append(cache)
        return product(layer_norm(x, params["norm"]), params["tokens"]["weight"]), new  # tied

    return network


def cross_entropy(scores, targets):
    """The mean over all places."""
    log_probabilities = jax.nn.log_softmax(scores)
    return -jnp.take_along_axis(log_probabilities, targets[..., None], -1).mean()


def clipped(gradients, largest):
    """The gradients, scaled down if the norm of all together is larger."""
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradients)))
    factor = jnp.minimum(1, largest / norm)  # 1 if the norm is 0
    return jax.tree.map(lambda g: factor * g, gradients)


def rate_of(t, hp):
    """The rate of step t, from 0: a warm-up, then half a cosine."""
    part = jnp.minimum(1, (t - hp.warmup) / (hp.steps - hp.warmup))
    cosine = (1 + jnp.cos(jnp.pi * part)) / 2
    cosine = hp.last_rate + (hp.learning_rate - hp.last_rate) * cosine
    # The step is traced: both are computed, and a Python `if` would fail.
    return jnp.where(t < hp.warmup, hp.learning_rate * (t + 1) / hp.warmup, cosine)


def adamw(state, gradients, hp):
    """The state after a step of AdamW, which decays matrices and embeddings alone."""
    gradients, rate, t = clipped(gradients, hp.clip), rate_of(state["t"], hp), state["t"] + 1
    m = jax.tree.map(lambda m, g: hp.beta1 * m + (1 - hp.beta1) * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: hp.beta2 * v + (1 - hp.beta2) * g**2, state["v"], gradients)
    c1, c2 = 1 - hp.beta1**t, 1 - hp.beta2**t

    def moved(w, m, v):
        decay = hp.weight_decay if w.ndim > 1 else 0
        return w - rate * (m / c1 / (jnp.sqrt(v / c2) + hp.epsilon) + decay * w)

    return {"params": jax.tree.map(moved, state["params"], m, v), "m": m, "v": v, "t": t}


def loss(network, settings, hp, weights):
    """The model: network, loss and step, and the state with the initial weights."""

    def mean_loss(params, x, y):
        scores, _ = network(params, x)
        return cross_entropy(scores, y)

    @partial(jax.jit, donate_argnums=0)  # the new state may take the memory of the old
    def step(state, x, y):
        step_loss, gradients = jax.value_and_grad(mean_loss)(state["params"], x, y)
        return adamw(state, gradients, hp), step_loss

    return {"step": step, "forward": jax.jit(network), "state": start(weights)}


@partial(jax.jit, static_argnames="forward")
def generate(forward, params, tokens):
    """Scores (N, T + T // 2, 65) of each token; then of those that continue the first half."""
    half = tokens.shape[1] // 2
    scores, _ = forward(params, tokens)  # (N, T, 65)
    last, caches = forward(params, tokens[:, :half])
    room = [(0, 0), (0, half), (0, 0), (0, 0)]  # for the keys and values of the tokens to come
    caches = jax.tree.map(lambda x: jnp.pad(x, room), caches)  # (N, T, H, D / H)

    def go_on(before, place):
        token, caches = before
        scores, caches = forward(params, token, caches, place)  # (N, 1, 65)
        return (scores.argmax(-1), caches), scores[:, 0]  # greedy

    before, places = (last[:, -1:].argmax(-1), caches), half + jnp.arange(half)
    _, further = lax.scan(go_on, before, places)  # (T // 2, N, 65)
    return jnp.concatenate([scores, further.swapaxes(0, 1)], 1)


def predict(model, x):
    """Scores (n, T + T // 2, 65): of each place; then of tokens that continue the first half."""
    forward, params = model["forward"], model["state"]["params"]
    parts = [x[first : first + 64] for first in range(0, len(x), 64)]
    return np.concatenate([generate(forward, params, part) for part in parts])


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    return float(cross_entropy(scores[:, : targets.shape[1]], targets))
