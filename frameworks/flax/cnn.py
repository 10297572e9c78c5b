"""The CNN in Flax NNX, on JAX, with Optax.

Idiom: an ``nnx.Module`` holds its weights, and an ``nnx.Optimizer`` the momentum; ``nnx.jit``
    compiles a step that changes both in place, as far as Python can see.
Layout: NHWC, which is all that ``nnx.Conv`` takes.
Momentum: ``v = momentum * v + g; w = w - lr * v``, Optax's, the learning rate outside the velocity.
Surprise: dropout is on until ``eval`` is called, and a compiled function reads that switch when it
    is called, not when it was compiled: it recompiles when the switch changes.
"""

import os

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx, traverse_util

AXES = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}  # from canonical to Flax's (y, x, in, out)
KINDS = {"kernel": "weight", "scale": "weight", "var": "variance"}  # Flax's names, canonical ones

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
        "layout": "NHWC",
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
    """Float32 images (n, 32, 32, 3), and int64 class numbers (n,) as they are."""
    # Swapping axes 1 and 3 would also transpose the images.
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)), labels


def max_pool(x):
    """The greatest of each 2x2 pixels."""
    return nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))  # a stride of 1 unless given


def max_pool_by_comparisons(x):
    """The same, but of equal pixels the first gets the gradient. XLA is slow at that of windows."""
    left, right = x[:, :, 0::2], x[:, :, 1::2]
    x = jnp.where(left >= right, left, right)  # (N, H, W/2, C)
    top, bottom = x[:, 0::2], x[:, 1::2]
    return jnp.where(top >= bottom, top, bottom)  # (N, H/2, W/2, C)


POOLS = {"windows": max_pool, "comparisons": max_pool_by_comparisons}


class Network(nnx.Module):
    """The layers, and the scores that they give."""

    def __init__(self, pool, dropout, rngs):
        drop1, drop2, drop3 = dropout  # the fraction dropped, not the fraction kept
        self.conv1 = nnx.Conv(3, 50, (3, 3), rngs=rngs)  # padding="SAME"
        self.conv2 = nnx.Conv(50, 50, (3, 3), rngs=rngs)
        self.conv3 = nnx.Conv(50, 100, (3, 3), rngs=rngs)
        self.conv4 = nnx.Conv(100, 100, (3, 3), rngs=rngs)
        self.dense1 = nnx.Linear(6400, 512, rngs=rngs)
        self.dense2 = nnx.Linear(512, 10, rngs=rngs)
        self.pool = pool
        self.drop1 = nnx.Dropout(drop1, rngs=rngs)
        self.drop2 = nnx.Dropout(drop2, rngs=rngs)
        self.drop3 = nnx.Dropout(drop3, rngs=rngs)

    def __call__(self, x):
        """Scores of a batch."""
        x = nnx.relu(self.conv1(x))  # (N, 32, 32, 50)
        x = nnx.relu(self.conv2(x))
        x = self.pool(x)  # (N, 16, 16, 50)
        x = self.drop1(x)
        x = nnx.relu(self.conv3(x))  # (N, 16, 16, 100)
        x = nnx.relu(self.conv4(x))
        x = self.pool(x)  # (N, 8, 8, 100)
        x = self.drop2(x)
        x = x.transpose(0, 3, 1, 2)  # (N, 100, 8, 8), the order of the shared weights
        x = x.reshape(x.shape[0], -1)  # (N, 6400)
        x = nnx.relu(self.dense1(x))  # (N, 512)
        x = self.drop3(x)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(POOLS[settings["pool"]], hp.dropout, nnx.Rngs(settings["seed"]))


def arrays(network):
    """{Flax's name, such as "conv1.kernel": array} of the weights and the running statistics."""
    state = nnx.state(network, (nnx.Param, nnx.BatchStat))
    return traverse_util.flatten_dict(nnx.to_pure_dict(state), sep=".")


def shared_name(name):
    """The canonical name of Flax's."""
    layer, _, kind = name.rpartition(".")
    return f"{layer}.{KINDS.get(kind, kind)}"


def put(network, weights, shared_name=shared_name):
    """Copy the canonical weights into the network's variables."""
    shared = {name: weights[shared_name(name)] for name in arrays(network)}
    copies = {name: jnp.array(w.transpose(AXES[w.ndim])) for name, w in shared.items()}
    nnx.update(network, traverse_util.unflatten_dict(copies, sep="."))


def mean_loss(network, x, y):
    """The loss of a batch."""
    return optax.softmax_cross_entropy_with_integer_labels(network(x), y).mean()


@nnx.jit(donate_argnames=("network", "optimizer"))
def step(network, optimizer, x, y):
    """One step of training: changes the network and the optimiser, and returns the loss."""
    step_loss, gradients = nnx.value_and_grad(mean_loss)(network, x, y)
    optimizer.update(network, gradients)
    return step_loss


def loss(network, settings, hp, weights):
    """The model: network and optimiser, with the initial weights."""
    # Flax itself would draw LeCun normal weights.
    put(network, weights)
    momentum = optax.sgd(hp.learning_rate, hp.momentum)  # nesterov=False
    return network, nnx.Optimizer(network, momentum, wrt=nnx.Param)


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, optimizer = model
    network.train()  # dropout on
    for x, y in batches:  # (N, 32, 32, 3), (N,)
        yield step(network, optimizer, x, y)


@nnx.jit
def forward(network, x):
    """Scores of a batch."""
    return network(x)


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    network, _ = model
    network.eval()  # dropout off
    return np.concatenate([forward(network, x[i : i + 256]) for i in range(0, len(x), 256)])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(jnp.mean(jnp.argmax(scores, 1) == labels))


def weights(model):
    """Every weight and the state under its canonical name and in its canonical layout."""
    found = {shared_name(name): np.array(array) for name, array in arrays(model[0]).items()}
    return {name: w.transpose(np.argsort(AXES[w.ndim])).copy() for name, w in found.items()}


def wait(model):
    """Return when the device has finished the last step."""
    jax.block_until_ready(nnx.state(model[0]))
