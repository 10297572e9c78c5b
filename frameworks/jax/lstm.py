"""The LSTM in JAX.

Idiom: a cell is a function of a state and an input, and ``lax.scan`` takes it through a sequence:
    one compiled loop per chunk, through whose steps the gradient flows back.
Layout: sequences (N, T, 1); ``lax.scan`` goes along the first axis, so time comes first inside.
Gates: input, forget, cell, output, stacked; one bias.
State: zeros at the start of every sequence, an argument and a result of the network;
    ``lax.stop_gradient`` between chunks cuts its gradient.
Surprise: a Python loop is unrolled, so the compilation takes longer with each step. ``lax.scan``
    compiles a step once per loop; only the loop over the chunks is unrolled here.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from frameworks.jax import mlp
from frameworks.jax.cnn import dense, load, train, wait, weights
from frameworks.jax.mlp import adam, start

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

CHUNK = 10  # steps that the gradient goes back through


def configure(lane, threads, seed):
    """As for the MLP, except for the layout."""
    return dict(mlp.configure(lane, threads, seed), layout="NTC")


def cell(params, state, x):
    """A step of the LSTM: the next state, (h, c), and the output, h."""
    h, c = state
    gates = x @ params["lstm.input"]["weight"].T + h @ params["lstm.recurrent"]["weight"].T
    i, f, g, o = jnp.split(gates + params["lstm"]["bias"], 4, 1)  # (N, 5) each
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def symbol(settings, hp):
    """The network, without an activation on its last layer."""

    def network(params, x, state):
        """Values of a batch of sequences, and the state after them."""
        x = dense(x, params["dense1"]).swapaxes(0, 1)  # (T, N, 5)
        state, h = lax.scan(partial(cell, params), state, x)  # (T, N, 5)
        return dense(h.swapaxes(0, 1), params["dense2"]), state  # (N, T, 1)

    return network


def zeros(x):
    """The state at the start of a batch of sequences."""
    return jnp.zeros((len(x), 5)), jnp.zeros((len(x), 5))


def loss(network, settings, hp, weights):
    """The model: network, loss and step, and the state with the initial weights."""

    def mean_loss(params, x, y):
        state, losses = zeros(x), []
        for first in range(0, x.shape[1], CHUNK):
            values, state = network(params, x[:, first : first + CHUNK], state)  # (N, 10, 1)
            state = lax.stop_gradient(state)
            losses.append(jnp.mean((values - y[:, first : first + CHUNK]) ** 2))
        return jnp.mean(jnp.array(losses))  # over the batch and its steps

    @partial(jax.jit, donate_argnums=0)  # the new state may take the memory of the old
    def step(state, x, y):
        step_loss, gradients = jax.value_and_grad(mean_loss)(state["params"], x, y)
        return adam(state, gradients, hp), step_loss

    @jax.jit
    def forward(params, x):
        value, state = network(params, x, zeros(x))  # (N, T, 1)

        def go_on(before, _):
            value, state = network(params, *before)  # (N, 1, 1)
            return (value, state), value[:, 0]

        _, further = lax.scan(go_on, (value[:, -1:], state), length=x.shape[1])  # (T, N, 1)
        return jnp.concatenate([value, further.swapaxes(0, 1)], 1)

    return {"step": step, "forward": forward, "state": start(weights)}


def predict(model, x):
    """Values (n, 2 T, 1): one step ahead of each input, then free-running, fed with its own."""
    return np.array(model["forward"](model["state"]["params"], x))


def evaluate(values, targets):
    """Root mean square of the difference."""
    return float(jnp.sqrt(jnp.mean((values - targets) ** 2)))
