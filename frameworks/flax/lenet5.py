"""LeNet-5 in Flax NNX, on JAX, with Optax.

Idiom: an ``nnx.Module`` holds its weights, and an ``nnx.Optimizer`` the moments; ``nnx.jit``
    compiles a step that changes both in place, as far as Python can see.
Layout: NHWC, which is all that ``nnx.Conv`` takes.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: a convolution keeps the size unless given ``padding="VALID"``; only then 5x5 takes 32x32
    to 28x28. A pool is the other way round.
"""

from flax import nnx

from frameworks.flax import cnn
from frameworks.flax.cnn import POOLS, evaluate, load, predict, train, wait, weights
from frameworks.flax.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but for Adam."""
    settings = dict(cnn.configure(lane, threads, seed), adam_scalars="float32 corrections")
    del settings["generator"]  # no dropout
    return settings


class Network(nnx.Module):
    """The layers, and the scores that they give."""

    def __init__(self, pool, rngs):
        self.conv1 = nnx.Conv(3, 6, (5, 5), padding="VALID", rngs=rngs)
        self.conv2 = nnx.Conv(6, 16, (5, 5), padding="VALID", rngs=rngs)
        self.conv3 = nnx.Conv(16, 120, (4, 4), padding="VALID", rngs=rngs)
        self.dense1 = nnx.Linear(480, 84, rngs=rngs)
        self.dense2 = nnx.Linear(84, 10, rngs=rngs)
        self.pool = pool

    def __call__(self, x):
        """Scores of a batch."""
        x = self.conv1(x)  # (N, 28, 28, 6)
        x = self.pool(x)  # (N, 14, 14, 6)
        x = nnx.sigmoid(x)  # after the pool: the same numbers, a quarter of the work
        x = self.conv2(x)  # (N, 10, 10, 16)
        x = self.pool(x)  # (N, 5, 5, 16)
        x = nnx.sigmoid(x)
        x = nnx.sigmoid(self.conv3(x))  # (N, 2, 2, 120)
        x = x.transpose(0, 3, 1, 2)  # (N, 120, 2, 2), the order of the shared weights
        x = x.reshape(x.shape[0], -1)  # (N, 480)
        x = nnx.sigmoid(self.dense1(x))  # (N, 84)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(POOLS[settings["pool"]], nnx.Rngs(settings["seed"]))
