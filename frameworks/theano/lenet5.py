"""LeNet-5 in Theano.

Idiom: symbolic expressions over shared variables; ``theano.function`` compiles them to C++, and
    its ``updates`` write the new weights.
Layout: NCHW.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``conv2d`` has no bias; it is added after, with ``dimshuffle`` to give it four axes.
"""

from theano import tensor as T
from theano.tensor.nnet import conv2d, sigmoid

from frameworks.theano.cnn import (
    configure,
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
from frameworks.theano.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Scores of symbolic images, in training and in prediction, and the shared variables in them.
    """
    shared = variables(
        conv1=(6, 3, 5, 5),
        conv2=(16, 6, 5, 5),
        conv3=(120, 16, 4, 4),
        dense1=(84, 480),
        dense2=(10, 84),
    )

    def conv(h, layer):
        h = conv2d(h, shared[layer + ".weight"], border_mode="valid", filter_flip=False)
        return h + shared[layer + ".bias"].dimshuffle("x", 0, "x", "x")

    x = T.tensor4("x")
    # Sigmoid after the pool: the same numbers, a quarter of the work.
    h = sigmoid(max_pool(conv(x, "conv1")))  # (N, 6, 14, 14)
    h = sigmoid(max_pool(conv(h, "conv2")))  # (N, 16, 5, 5)
    h = sigmoid(conv(h, "conv3"))  # (N, 120, 2, 2)
    h = sigmoid(dense(h.flatten(2), shared, "dense1"))  # (N, 480), order C, H, W; (N, 84)
    scores = dense(h, shared, "dense2")  # (N, 10), no softmax: the loss applies it
    return x, (scores, scores), shared
