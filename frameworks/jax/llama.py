"""The Llama in JAX.

Idiom: the weights are a tree of arrays, the network a function of them;
    ``jax.nn.dot_product_attention`` takes fewer heads of keys and values than of queries.
Layout: tokens (N, T), activations (N, T, D), queries (N, T, 4, D / 4), keys (N, T, 2, D / 4).
Rotary positions: feature i is rotated with feature i + d / 2, as in transformers; Meta's own code
    rotates neighbours, and its weights must be permuted.
AdamW: ``w = w - lr * (m / c1 / (sqrt(v / c2) + epsilon) + decay * w)``, written out; c1, c2 = 1 -
    beta1**t, 1 - beta2**t, in float32.
Surprise: ``take_along_axis`` gives NaN at a target of -100. ``mean(where=...)`` leaves it out, with
    its gradient; a product with a mask would keep it, since 0 times NaN is NaN.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from frameworks.jax.cnn import train, wait, weights
from frameworks.jax.gpt import adamw, attend, configure, load, predict, product
from frameworks.jax.mlp import start

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

WIDTH, HEADS, KEY_HEADS, BLOCKS = 128, 4, 2, 4
BASE, EPSILON, IGNORED = 10000, 1e-5, -100


def linear(x, layer):
    """A dense layer without a bias."""
    return product(x, layer["weight"])


def rms_norm(x, layer):
    """Features divided by their root mean square, and scaled."""
    return x * lax.rsqrt((x**2).mean(-1, keepdims=True) + EPSILON) * layer["weight"]


def rotate(x, first):
    """Rotate queries or keys (N, T, H, d) by their places, which begin at ``first``."""
    _, t, _, d = x.shape
    frequencies = BASE ** (-jnp.arange(0, d, 2) / d)  # (d / 2,)
    angles = jnp.outer(first + jnp.arange(t), frequencies)[:, None]  # (T, 1, d / 2)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    left, right = jnp.split(x, 2, -1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1)


def attention(params, name, x, cache, first):
    """Causal attention of four heads that share two heads of keys and values; and the cache."""
    n, t, _ = x.shape
    # Queries (N, T, 4, D / 4), keys and values (N, T, 2, D / 4).
    q = rotate(linear(x, params[name + ".q"]).reshape(n, t, HEADS, -1), first)
    k = rotate(linear(x, params[name + ".k"]).reshape(n, t, KEY_HEADS, -1), first)
    v = linear(x, params[name + ".v"]).reshape(n, t, KEY_HEADS, -1)
    mixed, cache = attend(q, k, v, cache, first)  # queries 0 and 1 take key 0, 2 and 3 key 1
    return linear(mixed.reshape(n, t, WIDTH), params[name + ".out"]), cache


def swiglu(params, name, x):
    """SwiGLU: the features of ``up``, multiplied by the SiLU of ``gate``."""
    opened = jax.nn.silu(linear(x, params[name + ".gate"])) * linear(x, params[name + ".up"])
    return linear(opened, params[name + ".down"])  # (N, T, 344) before


def symbol(settings, hp):
    """The network: scores of the next token at each place."""

    def network(params, tokens, caches=(None,) * BLOCKS, first=0):
        """Scores (N, T, 65) of the tokens from place ``first`` on, and the blocks' caches."""
        x, new = params["tokens"]["weight"][tokens], []  # (N, T, 128)
        for number, cache in enumerate(caches):
            block = f"blocks.{number}."
            y = rms_norm(x, params[block + "norm1"])
            y, cache = attention(params, block + "attention", y, cache, first)
            x = x + y
            x = x + swiglu(params, block + "mlp", rms_norm(x, params[block + "norm2"]))
            new.append(cache)
        return linear(rms_norm(x, params["norm"]), params["head"]), new

    return network


def cross_entropy(scores, targets):
    """The mean over all targets of the batch that count."""
    log_probabilities = jax.nn.log_softmax(scores)
    losses = -jnp.take_along_axis(log_probabilities, targets[..., None], -1)[..., 0]
    return losses.mean(where=targets != IGNORED)


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


def evaluate(scores, targets):
    """Mean cross-entropy of the places that were given."""
    return float(cross_entropy(scores[:, : targets.shape[1]], targets))
