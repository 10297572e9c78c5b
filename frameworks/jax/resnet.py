"""The residual network in JAX.

Idiom: the weights are a tree of arrays, and the running means and variances another: the network
    takes both, and returns the second with the scores. ``has_aux`` lets it through the gradient.
Layout: NCHW; NHWC in lane best.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the decay in the gradient, and only
    of kernels and matrices.
Batch normalisation: written out, by the batch's mean and variance. Running values are 0.9 of the
    old ones and 0.1 of the batch's, whose variance is divided by n.
Surprise: with a stride of 2, padding "SAME" pads an even side only at its end. The padding of one
    pixel on each side is given in numbers.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from frameworks.jax import cnn
from frameworks.jax.cnn import cross_entropy, dense, evaluate, load, train, tree, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the CNN, and which running variance is kept."""
    settings = dict(cnn.configure(lane, threads, seed), running_variance="biased")
    del settings["pool"], settings["generator"]  # neither pools nor dropout
    return settings


def conv(x, layer, layout, stride=1):
    """A convolution without bias, padded by half its kernel."""
    half = layer["weight"].shape[-1] // 2
    dimensions = (layout, "OIHW", layout)
    return lax.conv_general_dilated(
        x, layer["weight"], (stride, stride), [(half, half)] * 2, dimension_numbers=dimensions
    )


def batch_norm(x, layer, running, layout, training):
    """Normalised images, and the running mean and variance after them."""
    axes = [axis for axis in range(4) if layout[axis] != "C"]
    mean, variance = running["mean"], running["variance"]
    if training:
        mean, variance = x.mean(axes), x.var(axes)
        batch = {"mean": mean, "variance": variance}
        running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, batch)
    scale = layer["weight"] * lax.rsqrt(variance + 1e-5)
    scale, shift = (jnp.expand_dims(w, axes) for w in (scale, layer["bias"] - mean * scale))
    return x * scale + shift, running


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    layout = settings["layout"]

    def network(params, running, x, training=False):
        """Scores of a batch, and the running means and variances after it."""
        after = {}

        def convolution(x, name, norm, stride=1):
            x = conv(x, params[name], layout, stride)
            x, after[norm] = batch_norm(x, params[norm], running[norm], layout, training)
            return x

        x = jax.nn.relu(convolution(x, "start.conv", "start.norm"))  # (N, 16, 32, 32)
        for stage, blocks in enumerate(BLOCKS[hp.depth], 1):
            for block in range(1, blocks + 1):
                name = f"stage{stage}.block{block}."
                stride = 2 if stage > 1 and block == 1 else 1
                y = jax.nn.relu(convolution(x, name + "conv1", name + "norm1"))
                y = jax.nn.relu(convolution(y, name + "conv2", name + "norm2", stride))
                y = convolution(y, name + "conv3", name + "norm3")
                if block == 1:
                    x = convolution(x, name + "shortcut.conv", name + "shortcut.norm", stride)
                x = jax.nn.relu(x + y)
        # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
        x = x.mean([layout.index("H"), layout.index("W")])  # (N, 512)
        return dense(x, params["dense"]), after  # (N, 10), no softmax: the loss applies it

    return network


def loss(network, settings, hp, weights):
    """The model: network, loss and step, and the state with the initial weights."""

    def mean_loss(params, running, x, y):
        scores, running = network(params, running, x, training=True)
        return cross_entropy(scores, y), running

    def velocity_of(v, g, w):
        decay = hp.weight_decay if w.ndim > 1 else 0
        return hp.momentum * v + g + decay * w

    @partial(jax.jit, donate_argnums=0)  # the new state may take the memory of the old
    def step(state, x, y):
        (step_loss, running), gradients = jax.value_and_grad(mean_loss, has_aux=True)(
            state["params"], state["running"], x, y
        )
        velocity = jax.tree.map(velocity_of, state["velocity"], gradients, state["params"])
        params = jax.tree.map(lambda w, v: w - hp.learning_rate * v, state["params"], velocity)
        return {"params": params, "running": running, "velocity": velocity}, step_loss

    is_running = {name: name.endswith((".mean", ".variance")) for name in weights}
    params = tree({name: w for name, w in weights.items() if not is_running[name]})
    running = tree({name: w for name, w in weights.items() if is_running[name]})
    velocity = jax.tree.map(jnp.zeros_like, params)
    state = {"params": params, "running": running, "velocity": velocity}
    return {"step": step, "forward": jax.jit(network), "state": state}


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    state, scores = model["state"], []
    for first in range(0, len(x), 256):
        part, _ = model["forward"](state["params"], state["running"], x[first : first + 256])
        scores.append(part)
    return np.concatenate(scores)


def weights(model):
    """Every weight and the state under its canonical name, in its canonical layout."""
    found = {}
    for kind in ("params", "running"):
        found.update(cnn.weights({"state": {"params": model["state"][kind]}}))
    return found
