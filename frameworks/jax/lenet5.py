"""LeNet-5 in JAX.

Idiom: the weights are a tree of arrays, the network a function of them; Adam is ``jax.tree.map``
    over the trees of weights, gradients and moments.
Layout: NCHW; NHWC in lane best.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``jax.nn.hard_sigmoid`` and ``jax.nn.sigmoid`` differ by up to 0.07, too little to see in
    a curve of the loss.
"""

import jax

from frameworks.jax import cnn
from frameworks.jax.cnn import conv, dense, evaluate, load, max_pool, predict, train, wait, weights
from frameworks.jax.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but for Adam."""
    settings = dict(cnn.configure(lane, threads, seed), adam_scalars="float32 corrections")
    del settings["generator"]  # no dropout
    return settings


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    layout = settings["layout"]

    def network(params, x):
        """Scores of a batch."""
        x = conv(x, params["conv1"], layout, "VALID")  # (N, 6, 28, 28), or channels last
        x = max_pool(x, settings)  # (N, 6, 14, 14)
        x = jax.nn.sigmoid(x)  # after the pool: the same numbers, a quarter of the work
        x = conv(x, params["conv2"], layout, "VALID")  # (N, 16, 10, 10)
        x = max_pool(x, settings)  # (N, 16, 5, 5)
        x = jax.nn.sigmoid(x)
        x = jax.nn.sigmoid(conv(x, params["conv3"], layout, "VALID"))  # (N, 120, 2, 2)
        if layout == "NHWC":
            x = x.transpose(0, 3, 1, 2)
        x = x.reshape(x.shape[0], -1)  # (N, 480), in the order C, H, W in both layouts
        x = jax.nn.sigmoid(dense(x, params["dense1"]))  # (N, 84)
        return dense(x, params["dense2"])  # (N, 10), no softmax: the loss applies it

    return network
