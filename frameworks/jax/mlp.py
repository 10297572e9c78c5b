"""The MLP in JAX.

Idiom: the weights are a tree of arrays, the network a function of them; Adam is ``jax.tree.map``
    over the trees of weights, gradients and moments.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the step number is an array of the state, so ``beta2**t`` is computed in float32. In the
    first steps this leaves about five correct digits of ``1 - beta2**t``, and so of the step size.
"""

from functools import partial

import jax
import jax.numpy as jnp

from frameworks.jax import cnn
from frameworks.jax.cnn import (
    cross_entropy,
    dense,
    evaluate,
    load,
    predict,
    train,
    tree,
    wait,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but for Adam; switches of convolutions are not in force."""
    settings = dict(cnn.configure(lane, threads, seed), adam_scalars="float32 corrections")
    del settings["pool"], settings["generator"]  # neither pools nor dropout
    off = sorted({"autotune", "ynn_convolution"} | set(settings["not_in_force"]))
    return dict(settings, not_in_force=off)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""

    def network(params, x):
        """Scores of a batch."""
        x = x.reshape(x.shape[0], -1)  # (N, 784)
        x = jax.nn.relu(dense(x, params["dense1"]))  # (N, 1000)
        x = jax.nn.relu(dense(x, params["dense2"]))  # (N, 1000)
        return dense(x, params["dense3"])  # (N, 10), no softmax: the loss applies it

    return network


def adam(state, gradients, hp):
    """The state after a step of Adam."""
    t = state["t"] + 1
    m = jax.tree.map(lambda m, g: hp.beta1 * m + (1 - hp.beta1) * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: hp.beta2 * v + (1 - hp.beta2) * g**2, state["v"], gradients)
    c1, c2 = 1 - hp.beta1**t, 1 - hp.beta2**t

    def moved(w, m, v):
        return w - hp.learning_rate * (m / c1) / (jnp.sqrt(v / c2) + hp.epsilon)

    return {"params": jax.tree.map(moved, state["params"], m, v), "m": m, "v": v, "t": t}


def start(weights):
    """Adam's first state, with the initial weights."""
    params = tree(weights)
    m, v = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "m": m, "v": v, "t": jnp.array(0)}


def loss(network, settings, hp, weights):
    """The model: network, loss and step, and the state with the initial weights."""

    def mean_loss(params, x, y):
        return cross_entropy(network(params, x), y)

    @partial(jax.jit, donate_argnums=0)  # the new state may take the memory of the old
    def step(state, x, y):
        step_loss, gradients = jax.value_and_grad(mean_loss)(state["params"], x, y)
        return adam(state, gradients, hp), step_loss

    return {"step": step, "forward": jax.jit(network), "state": start(weights)}
