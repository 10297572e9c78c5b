"""LeNet-5 in PyTensor.

Idiom: symbolic expressions over shared variables; ``pytensor.function`` compiles them (by default
    with Numba, here to C++), and its ``updates`` write the new weights.
Layout: NCHW from ``load``; inside (N, H, W, C).
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``blank[...].set(x)`` changes nothing: it is an expression of an array with x in it.
"""

from pytensor import tensor as pt

from frameworks.pytensor.cnn import (
    configure,
    conv,
    dense,
    evaluate,
    load,
    max_pool,
    predict,
    train,
    variables,
    wait,
    weights,
)
from frameworks.pytensor.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Symbolic images, their scores in training and in prediction, and the shared variables in them.
    """
    shared = variables(
        conv1=(6, 3, 5, 5),
        conv2=(16, 6, 5, 5),
        conv3=(120, 16, 4, 4),
        dense1=(84, 480),
        dense2=(10, 84),
    )

    def valid_conv(h, layer):
        side = h.type.shape[1] - shared[layer + ".weight"].type.shape[2] + 1
        return conv(h, shared, layer, start=0)[:, :side, :side]  # where the kernel fits

    x = pt.tensor("x", shape=(None, 3, 32, 32), dtype="float32")
    h = x.transpose(0, 2, 3, 1)  # (N, 32, 32, 3)
    # Sigmoid after the pool: the same numbers, a quarter of the work.
    h = pt.sigmoid(max_pool(valid_conv(h, "conv1")))  # (N, 14, 14, 6)
    h = pt.sigmoid(max_pool(valid_conv(h, "conv2")))  # (N, 5, 5, 16)
    h = pt.sigmoid(valid_conv(h, "conv3"))  # (N, 2, 2, 120)
    h = h.transpose(0, 3, 1, 2).reshape((-1, 480))  # (N, 480), in the order C, H, W
    h = pt.sigmoid(dense(h, shared, "dense1"))  # (N, 84)
    scores = dense(h, shared, "dense2")  # (N, 10), no softmax: the loss applies it
    return x, (scores, scores), shared, {}
