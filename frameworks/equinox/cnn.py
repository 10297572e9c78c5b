"""The CNN in Equinox, on JAX.

Idiom: an ``eqx.Module`` is a tree of arrays, its ``__call__`` takes one image, and ``jax.vmap`` a
    batch; a step is a compiled function that returns a new network and a new optimiser's state.
Layout: NCHW, which is all that Equinox's layers take.
Momentum: ``v = momentum * v + g; w = w - lr * v``, Optax's, the learning rate outside the velocity.
Surprise: dropout is given its random key in each call. With one key for the batch, all of its
    images lose the same values; each needs a key of its own.
"""

import os
from typing import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

LAYERS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
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
        "layout": "NCHW",
        "precision": "float64" if jax.config.jax_enable_x64 else "float32",
        "threads": int(os.environ["NPROC"]),
        "seed": seed,
        "tf32": jax.config.jax_default_matmul_precision != "highest",
        "autotune": "autotune_level=0" not in os.environ["XLA_FLAGS"],
        "ynn_convolution": "-individual_convolution" not in os.environ["XLA_FLAGS"],
        "pool": "comparisons" if best and not gpu else "windows",
        "generator": jax.config.jax_default_prng_impl,
        "donated": "all-except-first" if best else "none",
        "jit": True,
        "not_in_force": ["ynn_convolution"] if gpu else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def max_pool_by_comparisons(x):
    """The greatest of each 2x2 pixels; of equal ones the first gets the gradient.

    XLA is slow at the gradient of windows on a CPU.
    """
    left, right = x[..., 0::2], x[..., 1::2]
    x = jnp.where(left >= right, left, right)  # (C, H, W/2)
    top, bottom = x[:, 0::2], x[:, 1::2]
    return jnp.where(top >= bottom, top, bottom)  # (C, H/2, W/2)


class Network(eqx.Module):
    """The layers, and the scores that they give."""

    conv1: eqx.nn.Conv2d
    conv2: eqx.nn.Conv2d
    conv3: eqx.nn.Conv2d
    conv4: eqx.nn.Conv2d
    dense1: eqx.nn.Linear
    dense2: eqx.nn.Linear
    pool: Callable
    drop1: eqx.nn.Dropout
    drop2: eqx.nn.Dropout
    drop3: eqx.nn.Dropout

    def __init__(self, pool, dropout, key):
        keys = jax.random.split(key, len(LAYERS))
        self.conv1 = eqx.nn.Conv2d(3, 50, 3, padding="SAME", key=keys[0])
        self.conv2 = eqx.nn.Conv2d(50, 50, 3, padding="SAME", key=keys[1])
        self.conv3 = eqx.nn.Conv2d(50, 100, 3, padding="SAME", key=keys[2])
        self.conv4 = eqx.nn.Conv2d(100, 100, 3, padding="SAME", key=keys[3])
        self.dense1 = eqx.nn.Linear(6400, 512, key=keys[4])
        self.dense2 = eqx.nn.Linear(512, 10, key=keys[5])
        self.pool = pool
        # The fraction dropped, not the fraction kept.
        self.drop1, self.drop2, self.drop3 = [eqx.nn.Dropout(fraction) for fraction in dropout]

    def __call__(self, x, key=None):
        """Scores of one image."""
        key1, key2, key3 = (None,) * 3 if key is None else jax.random.split(key, 3)
        x = jax.nn.relu(self.conv1(x))  # (50, 32, 32)
        x = self.pool(jax.nn.relu(self.conv2(x)))  # (50, 16, 16)
        x = self.drop1(x, key=key1)
        x = jax.nn.relu(self.conv3(x))  # (100, 16, 16)
        x = self.pool(jax.nn.relu(self.conv4(x)))  # (100, 8, 8)
        x = self.drop2(x, key=key2)
        x = x.ravel()  # (6400,), in the order C, H, W
        x = jax.nn.relu(self.dense1(x))  # (512,)
        x = self.drop3(x, key=key3)
        return self.dense2(x)  # (10,), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    windows = eqx.nn.MaxPool2d(2, 2)  # its stride is 1 unless given
    pool = windows if settings["pool"] == "windows" else max_pool_by_comparisons
    return Network(pool, hp.dropout, jax.random.key(settings["seed"]))


def named(network):
    """{canonical name: array} of a network."""
    layers = {name: getattr(network, name) for name in LAYERS}
    found = {name + ".weight": layer.weight for name, layer in layers.items()}
    return dict(found, **{name + ".bias": layer.bias for name, layer in layers.items()})


def put(network, weights):
    """A network like this one, with copies of the canonical weights."""
    # A convolution's bias is (out, 1, 1) here.
    arrays = [jnp.array(weights[name]).reshape(w.shape) for name, w in named(network).items()]
    return eqx.tree_at(lambda network: list(named(network).values()), network, arrays)


def mean_loss(network, x, y, key):
    """The loss of a batch, with dropout; each image has a key of its own."""
    # Of rbg's keys, ``vmap`` takes the first alone, and draws the masks of all images with it.
    scores = jax.vmap(network)(x, jax.random.split(key, len(x)))  # (N, 10)
    return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()


def loss(network, settings, hp, weights):
    """The model: network, optimiser and its state, with the initial weights."""
    network = put(network, weights)
    optimizer = optax.sgd(hp.learning_rate, hp.momentum)  # nesterov=False

    # The new state may take the memory of the old; the batch stays the caller's.
    @eqx.filter_jit(donate=settings["donated"])
    def step(batch, network, state, key):
        x, y = batch
        key, batch_key = jax.random.split(key)
        # Of the network's arrays, not of x.
        step_loss, gradients = eqx.filter_value_and_grad(mean_loss)(network, x, y, batch_key)
        updates, state = optimizer.update(gradients, state)
        return eqx.apply_updates(network, updates), state, key, step_loss

    state = optimizer.init(eqx.filter(network, eqx.is_inexact_array))
    key = jax.random.key(settings["seed"])
    return {"step": step, "network": network, "state": state, "key": key}


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    for batch in batches:  # (N, 3, 32, 32), (N,)
        model["network"], model["state"], model["key"], step_loss = model["step"](
            batch, model["network"], model["state"], model["key"]
        )
        yield step_loss


@eqx.filter_jit
def forward(network, x):
    """Scores of a batch."""
    return jax.vmap(network)(x)


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    network = eqx.nn.inference_mode(model["network"])  # dropout off
    scores = [forward(network, x[first : first + 256]) for first in range(0, len(x), 256)]
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(jnp.mean(jnp.argmax(scores, 1) == labels))


def weights(model):
    """Every weight under its canonical name; Equinox's layouts are the canonical ones."""
    found = {name: np.array(w) for name, w in named(model["network"]).items()}
    return {name: w.ravel() if name.endswith(".bias") else w for name, w in found.items()}


def wait(model):
    """Return when the device has finished the last step."""
    jax.block_until_ready(model["network"])
