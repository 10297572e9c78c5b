"""The port: plain JAX, with the weights of the Keras model, in Keras's layouts.

    tox exec -e jax -- python docs/examples/keras-to-jax/port.py IN OUT

Reads weights.npz, forward.npz and steps.npz of the original from the folder IN, and writes the
port's forward.npz and steps.npz into the folder OUT.
"""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RATE, MOMENTUM = 0.05, 0.9
TAPS = None  # a dict while a pass is recorded


def tap(name, x):
    """Record an array under the original's name for it; does nothing otherwise."""
    if TAPS is not None:
        full, n = name, 2
        while full in TAPS:  # as the recorder numbers a layer's calls
            full, n = "%s, call %d" % (name, n), n + 1
        TAPS[full] = np.array(x)
    return x


def convolution(w, x):
    """A convolution with stride 2; "SAME" pads as Keras's "same" does."""
    layouts = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w["conv/kernel"], (2, 2), "SAME", dimension_numbers=layouts)


def batch_norm(w, running, x, training):
    """Normalised images, and the running mean and variance after them."""
    mean, variance = running["norm1/moving_mean"], running["norm1/moving_variance"]
    if training:
        kept = 0.99  # of the old value; the batch's variance is divided by n
        old, (mean, variance) = (mean, variance), (x.mean((0, 1, 2)), x.var((0, 1, 2)))
        running = {
            "norm1/moving_mean": kept * old[0] + (1 - kept) * mean,
            "norm1/moving_variance": kept * old[1] + (1 - kept) * variance,
        }
    x = (x - mean) * lax.rsqrt(variance + 1e-3)
    return x * w["norm1/gamma"] + w["norm1/beta"], running


def lstm(w, x):
    """The last state (N, units) of a sequence (N, T, features); gates in the order i, f, g, o."""
    kernel, recurrent, bias = (
        w["lstm/lstm_cell/" + name] for name in ("kernel", "recurrent_kernel", "bias")
    )

    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ kernel + h @ recurrent + bias, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((len(x), recurrent.shape[0]))
    (h, _), _ = lax.scan(step, (zeros, zeros), x.swapaxes(0, 1))
    return h


def layer_norm(w, x):
    """A layer normalisation over the features."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-3) * w["norm2/gamma"] + w["norm2/beta"]


def network(w, running, x, training=False):
    """Scores of a batch of images (N, 16, 16, 3), and the running mean and variance after it."""
    x = tap("conv", convolution(w, x))  # (N, 8, 8, 8)
    x, running = batch_norm(w, running, x, training)
    x = tap("relu", jax.nn.relu(tap("norm1", x)))
    x = tap("rows", x.reshape(-1, 8, 64))
    x = tap("norm2", layer_norm(w, tap("lstm", lstm(w, x))))  # (N, 16)
    x = jax.nn.gelu(x @ w["dense1/kernel"] + w["dense1/bias"], approximate=False)
    x = tap("dropout", tap("dense1", x))  # (N, 32); no dropout here
    return tap("dense2", x @ w["dense2/kernel"] + w["dense2/bias"]), running


def mean_loss(w, running, x, y):
    """The mean cross-entropy of a batch, and what the network keeps of it."""
    scores, running = network(w, running, x, training=True)
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean(), running


@jax.jit
def step(state, x, y):
    """One step of training: the next state, the loss and the gradients."""
    compute = jax.value_and_grad(mean_loss, has_aux=True)
    (loss, running), gradients = compute(state["w"], state["running"], x, y)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, state["velocity"], gradients)
    w = jax.tree.map(lambda w, v: w + v, state["w"], velocity)
    return {"w": w, "running": running, "velocity": velocity}, loss, gradients


def start(weights):
    """The state before the first step: Keras's arrays as they are."""
    arrays = {name: jnp.array(weights[name]) for name in weights}
    running = {name: arrays.pop(name) for name in list(arrays) if "/moving_" in name}
    zeros = jax.tree.map(jnp.zeros_like, arrays)
    return {"w": arrays, "running": running, "velocity": zeros}


def forward(state, x):
    """Each layer's result in prediction, under the original's names."""
    global TAPS
    TAPS = {"x": x}
    network(state["w"], state["running"], x)
    found, TAPS = TAPS, None
    return found


def steps(state, x, y):
    """Three steps on one batch, under the original's names."""
    found = {"x": x, "y": y}
    found.update(("step0 " + name, np.array(a)) for name, a in state["w"].items())
    for n in range(1, 4):
        state, loss, gradients = step(state, x, y)
        found["loss%d" % n] = np.array(loss).reshape(1)
        found.update(("grad%d %s" % (n, name), np.array(a)) for name, a in gradients.items())
        found.update(("step%d %s" % (n, name), np.array(a)) for name, a in state["w"].items())
    found.update(("step3 " + name, np.array(a)) for name, a in state["running"].items())
    return found


def main(source, target):
    """Record the port's pass and its steps on the original's batch."""
    os.makedirs(target, exist_ok=True)
    weights, original, trained = (
        dict(np.load(os.path.join(source, name + ".npz")))
        for name in ("weights", "forward", "steps")
    )
    state = start(weights)
    np.savez_compressed(os.path.join(target, "forward.npz"), **forward(state, original["x"]))
    made = steps(state, trained["x"], trained["y"])
    np.savez_compressed(os.path.join(target, "steps.npz"), **made)


if __name__ == "__main__":
    main(*sys.argv[1:])
