"""The CNN in JAX as a tutorial writes it: functions of a list of weights, ``jit``, ``tree.map``.

The bench times it beside the lanes: ``tox run -e bench -- jax:plain jax:best``.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn, random

SHAPES = [(3, 3, 3, 50), (3, 3, 50, 50), (3, 3, 50, 100), (3, 3, 100, 100), (6400, 512), (512, 10)]
CHANNELS_LAST = True


def conv(x, layer):
    """A convolution and a ReLU."""
    w, b = layer
    return nn.relu(
        lax.conv_general_dilated(x, w, (1, 1), "SAME", None, None, ("NHWC", "HWIO", "NHWC")) + b
    )


def max_pool(x):
    """The greatest of each 2x2 pixels."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def dropout(x, fraction, key):
    """Drop a fraction, and scale the rest."""
    return jnp.where(random.bernoulli(key, 1 - fraction, x.shape), x / (1 - fraction), 0)


def network(params, x, key):
    """Scores of a batch of images."""
    key1, key2, key3 = random.split(key, 3)
    x = conv(x, params[0])  # (N, 32, 32, 50)
    x = max_pool(conv(x, params[1]))  # (N, 16, 16, 50)
    x = dropout(x, 0.25, key1)
    x = conv(x, params[2])  # (N, 16, 16, 100)
    x = max_pool(conv(x, params[3]))  # (N, 8, 8, 100)
    x = dropout(x, 0.25, key2)
    w, b = params[4]
    x = nn.relu(x.reshape(len(x), -1) @ w + b)  # (N, 6400), (N, 512)
    x = dropout(x, 0.5, key3)
    w, b = params[5]
    return x @ w + b  # (N, 10)


def mean_loss(params, x, y, key):
    """The cross-entropy of a batch."""
    return -jnp.mean(nn.log_softmax(network(params, x, key))[jnp.arange(len(y)), y])


@jax.jit
def step(params, velocity, x, y, key, learning_rate):
    """One step of SGD with momentum: the loss, and the new weights and velocity."""
    loss, gradients = jax.value_and_grad(mean_loss)(params, x, y, key)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
    return loss, jax.tree.map(lambda w, v: w - learning_rate * v, params, velocity), velocity


def build(learning_rate=0.01):
    """The model: its state by name."""
    key, *keys = random.split(random.key(0), len(SHAPES) + 1)
    draw = nn.initializers.glorot_uniform()
    params = [(draw(k, shape), jnp.zeros(shape[-1])) for k, shape in zip(keys, SHAPES)]
    velocity = jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "velocity": velocity, "key": key, "rate": learning_rate}


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 32, 32, 3), labels: (n,)."""
    order = np.random.permutation(len(images))
    for first in range(0, len(images), 64):
        rows = order[first : first + 64]
        model["key"], key = random.split(model["key"])
        state = model["params"], model["velocity"]
        loss, *state = step(*state, images[rows], labels[rows], key, model["rate"])
        model["params"], model["velocity"] = state
    return loss
