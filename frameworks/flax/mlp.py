"""The MLP in Flax NNX, on JAX, with Optax.

Idiom: an ``nnx.Module`` holds its weights, and an ``nnx.Optimizer`` the moments; ``nnx.jit``
    compiles a step that changes both in place, as far as Python can see.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: Optax computes ``beta2**t`` in float32. In the first steps this leaves about five correct
    digits of ``1 - beta2**t``, and so of the step size.
"""

import optax
from flax import nnx

from frameworks.flax import cnn
from frameworks.flax.cnn import evaluate, load, predict, put, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but for Adam; switches of convolutions are not in force."""
    settings = dict(cnn.configure(lane, threads, seed), adam_scalars="float32 corrections")
    del settings["pool"], settings["generator"]  # neither pools nor dropout
    off = sorted({"autotune", "ynn_convolution"} | set(settings["not_in_force"]))
    return dict(settings, not_in_force=off)


class Network(nnx.Module):
    """The layers, and the scores that they give."""

    def __init__(self, rngs):
        self.dense1 = nnx.Linear(784, 1000, rngs=rngs)
        self.dense2 = nnx.Linear(1000, 1000, rngs=rngs)
        self.dense3 = nnx.Linear(1000, 10, rngs=rngs)

    def __call__(self, x):
        """Scores of a batch."""
        x = x.reshape(x.shape[0], -1)  # (N, 784)
        x = nnx.relu(self.dense1(x))  # (N, 1000)
        x = nnx.relu(self.dense2(x))  # (N, 1000)
        return self.dense3(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(nnx.Rngs(settings["seed"]))


def loss(network, settings, hp, weights):
    """The model: network and optimiser, with the initial weights."""
    put(network, weights)
    adam = optax.adam(hp.learning_rate, hp.beta1, hp.beta2, hp.epsilon)
    return network, nnx.Optimizer(network, adam, wrt=nnx.Param)
