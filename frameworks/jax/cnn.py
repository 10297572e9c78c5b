"""The CNN in JAX.

Idiom: the weights are a tree of arrays, the network a function of them. A step takes the state of
    training and returns the next one; ``jax.jit`` compiles it, and its old state is donated.
Layout: NCHW, ``jax.lax.conv``'s own; NHWC in lane best. JAX has no layers, so no layout of weights:
    here they are canonical in both lanes.
Momentum: ``v = momentum * v + g; w = w - lr * v``, written out, the learning rate outside the
    velocity.
Surprise: ``jnp.maximum(x, 0)`` is not quite ``jax.nn.relu(x)``: at 0 it has half a gradient.
"""

import os
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# XLA's newer convolutions on a CPU are slower than its older ones.
OLDER_CONVOLUTIONS = "--xla_cpu_experimental_ynn_fusion_type=-individual_convolution"


def configure(lane, threads, seed):
    """Set threads, precision and autotune; return the settings in force."""
    best = lane == "best"
    # The first device that JAX makes reads both of these, once.
    os.environ.setdefault("NPROC", str(threads))
    flags = OLDER_CONVOLUTIONS if best else "--xla_gpu_autotune_level=0"
    os.environ.setdefault("XLA_FLAGS", flags)
    gpu = jax.default_backend() == "gpu"
    jax.config.update("jax_default_matmul_precision", "highest")  # no TF32
    # Masks of rbg take a third of the time; those of threefry are alike on any number of devices.
    jax.config.update("jax_default_prng_impl", "rbg" if best else "threefry2x32")
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NHWC" if best else "NCHW",
        "precision": "float64" if jax.config.jax_enable_x64 else "float32",
        "threads": int(os.environ["NPROC"]),
        "seed": seed,
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": "-individual_convolution" not in os.environ["XLA_FLAGS"],
        "pool": "comparisons" if best and not gpu else "windows",
        "generator": jax.config.jax_default_prng_impl,
        "jit": not jax.config.jax_disable_jit,
        "not_in_force": ["ynn_convolution"] if gpu else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # swapping axes 1 and 3 would also transpose the images
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    return images, labels


def conv(x, layer, layout, padding="SAME"):
    """A convolution of images in this layout."""
    dimensions = (layout, "OIHW", layout)
    x = lax.conv_general_dilated(x, layer["weight"], (1, 1), padding, dimension_numbers=dimensions)
    return x + layer["bias"].reshape((1, -1, 1, 1) if layout == "NCHW" else (1, 1, 1, -1))


def max_pool(x, settings):
    """The greatest of each 2x2 pixels."""
    if settings["pool"] == "windows":
        window = [2 if axis in "HW" else 1 for axis in settings["layout"]]
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
    # XLA is slow at the gradient of a window on a CPU. Of equal pixels the first gets it.
    left, right = x[:, :, 0::2], x[:, :, 1::2]
    x = jnp.where(left >= right, left, right)  # (N, H, W/2, C)
    top, bottom = x[:, 0::2], x[:, 1::2]
    return jnp.where(top >= bottom, top, bottom)  # (N, H/2, W/2, C)


def dropout(x, fraction, key):
    """Drops a fraction, and scales the rest; without a key, nothing."""
    if key is None:
        return x
    kept = jax.random.bernoulli(key, 1 - fraction, x.shape)
    return jnp.where(kept, x / (1 - fraction), 0)


def dense(x, layer):
    """A dense layer."""
    return x @ layer["weight"].T + layer["bias"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    layout = settings["layout"]

    def network(params, x, key=None):
        """Scores of a batch; a key turns dropout on."""
        key1, key2, key3 = (None,) * 3 if key is None else jax.random.split(key, 3)
        x = jax.nn.relu(conv(x, params["conv1"], layout))  # (N, 50, 32, 32), or channels last
        x = jax.nn.relu(conv(x, params["conv2"], layout))
        x = max_pool(x, settings)  # (N, 50, 16, 16)
        x = dropout(x, drop1, key1)
        x = jax.nn.relu(conv(x, params["conv3"], layout))  # (N, 100, 16, 16)
        x = jax.nn.relu(conv(x, params["conv4"], layout))
        x = max_pool(x, settings)  # (N, 100, 8, 8)
        x = dropout(x, drop2, key2)
        if layout == "NHWC":
            x = x.transpose(0, 3, 1, 2)
        x = x.reshape(x.shape[0], -1)  # (N, 6400), in the order C, H, W in both layouts
        x = jax.nn.relu(dense(x, params["dense1"]))  # (N, 512)
        x = dropout(x, drop3, key3)
        return dense(x, params["dense2"])  # (N, 10), no softmax: the loss applies it

    return network


def tree(weights):
    """{"conv1": {"weight": ..., "bias": ...}, ...}: copies of the canonical weights."""
    params = {}
    for name, w in weights.items():
        layer, _, kind = name.rpartition(".")
        params.setdefault(layer, {})[kind] = jnp.array(w)  # asarray need not copy
    return params


def cross_entropy(scores, labels):
    """The mean over the batch."""
    log_probabilities = jax.nn.log_softmax(scores)
    return -jnp.take_along_axis(log_probabilities, labels[:, None], 1).mean()


def loss(network, settings, hp, weights):
    """The model: network, loss and step, and the state with the initial weights."""

    def mean_loss(params, x, y, key):
        return cross_entropy(network(params, x, key), y)

    @partial(jax.jit, donate_argnums=0)  # the new state may take the memory of the old
    def step(state, x, y):
        key, batch_key = jax.random.split(state["key"])  # a key used twice repeats its masks
        step_loss, gradients = jax.value_and_grad(mean_loss)(state["params"], x, y, batch_key)
        velocity = jax.tree.map(lambda v, g: hp.momentum * v + g, state["velocity"], gradients)
        params = jax.tree.map(lambda w, v: w - hp.learning_rate * v, state["params"], velocity)
        return {"params": params, "velocity": velocity, "key": key}, step_loss

    params = tree(weights)
    velocity = jax.tree.map(jnp.zeros_like, params)
    state = {"params": params, "velocity": velocity, "key": jax.random.key(settings["seed"])}
    return {"step": step, "forward": jax.jit(network), "state": state}


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    for x, y in batches:  # (N, 3, 32, 32), (N,)
        model["state"], step_loss = model["step"](model["state"], x, y)
        yield step_loss


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    params = model["state"]["params"]
    parts = [x[first : first + 256] for first in range(0, len(x), 256)]
    return np.concatenate([model["forward"](params, part) for part in parts])  # no key: no dropout


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(jnp.mean(jnp.argmax(scores, 1) == labels))


def weights(model):
    """Every weight under its canonical name, in the canonical layout that it has here."""
    layers = model["state"]["params"].items()
    return {f"{name}.{kind}": np.array(w) for name, layer in layers for kind, w in layer.items()}


def wait(model):
    """Return when the device has finished the last step."""
    jax.block_until_ready(model["state"])
