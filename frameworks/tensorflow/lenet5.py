"""LeNet-5 in TensorFlow 2, below Keras.

Idiom: ``tf.nn`` on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``, whose
    Python runs once, to record a graph.
Layout: NCHW; NHWC on a CPU in the best lane, and wherever oneDNN is off, because only oneDNN runs
    NCHW on a CPU.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: padding is "VALID" (none), "SAME", or a list for all four axes, but never one number.
"""

import tensorflow as tf

from frameworks.tensorflow.cnn import (
    configure,
    evaluate,
    layer,
    load,
    predict,
    train,
    wait,
    weights,
)
from frameworks.tensorflow.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


class Network(tf.Module):
    """A kernel and a bias for each layer, and the scores that they give."""

    def __init__(self, layout):
        super().__init__()
        self.layout = layout
        self.conv1 = layer("conv1", 5, 5, 3, 6)
        self.conv2 = layer("conv2", 5, 5, 6, 16)
        self.conv3 = layer("conv3", 4, 4, 16, 120)
        self.dense1 = layer("dense1", 480, 84)
        self.dense2 = layer("dense2", 84, 10)

    def convolution(self, x, weights):
        """Cross-correlate without padding and add the bias."""
        kernel, bias = weights
        x = tf.nn.conv2d(x, kernel, 1, "VALID", data_format=self.layout)
        return tf.nn.bias_add(x, bias, data_format=self.layout)

    def pool(self, x):
        """Take the maximum of each 2x2 window."""
        return tf.nn.max_pool2d(x, 2, 2, "VALID", data_format=self.layout)

    def __call__(self, x, training):  # without dropout both are the same
        """Scores of a batch of images."""
        # Sigmoid after the pool: the same numbers, a quarter of the work.
        # Shapes are those of NCHW.
        x = tf.sigmoid(self.pool(self.convolution(x, self.conv1)))  # (N, 6, 14, 14)
        x = tf.sigmoid(self.pool(self.convolution(x, self.conv2)))  # (N, 16, 5, 5)
        x = tf.sigmoid(self.convolution(x, self.conv3))  # (N, 120, 2, 2)
        if self.layout == "NHWC":
            x = tf.transpose(x, (0, 3, 1, 2))  # (N, 120, 2, 2), the order of the shared weights
        x = tf.reshape(x, (-1, 480))  # (N, 480)
        weight, bias = self.dense1
        x = tf.sigmoid(tf.matmul(x, weight) + bias)  # (N, 84)
        weight, bias = self.dense2
        return tf.matmul(x, weight) + bias  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(settings["layout"])
