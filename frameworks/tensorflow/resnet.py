"""The residual network in TensorFlow 2, below Keras.

Idiom: ``tf.nn`` on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``, whose
    Python runs once, to record a graph.
Layout: NCHW; NHWC on a CPU in the best lane, and wherever oneDNN is off, because only oneDNN runs
    NCHW on a CPU.
Momentum: ``v = momentum * v + g + decay * w; w = w - lr * v``, the learning rate outside the
    velocity.
Batch normalisation: written out from ``tf.nn.moments``, whose variance is divided by n; the running
    variance is divided by n - 1. The fused kernel has no name in ``tf.nn`` of TensorFlow 2, only
    in ``tf.raw_ops`` and ``tf.compat.v1.nn``.
Surprise: "SAME" with a stride of 2 pads an even side only at its end, where others pad both ends;
    so the borders are added here.
"""

import numpy as np
import tensorflow as tf

from frameworks.tensorflow import cnn
from frameworks.tensorflow.cnn import AXES, evaluate, graphs, load, predict, train, wait

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth
KEPT, EPSILON = 0.9, 1e-5  # of the running mean and variance, and added to the variance


def configure(lane, threads, seed):
    """As for the CNN, with the convention of the running variance."""
    return dict(cnn.configure(lane, threads, seed), running_variance="unbiased")


class Convolution(tf.Module):
    """A convolution without bias, and batch normalisation."""

    def __init__(self, conv, norm, layout, inputs, outputs, size=1, stride=1):
        super().__init__()
        self.layout, self.size, self.stride = layout, size, stride
        self.axes, self.channels = ((0, 2, 3), 1) if layout == "NCHW" else ((0, 1, 2), 3)
        kernel = tf.zeros((size, size, inputs, outputs))
        self.kernel = tf.Variable(kernel, name=conv + ".weight")
        self.scale = tf.Variable(tf.ones(outputs), name=norm + ".weight")
        self.shift = tf.Variable(tf.zeros(outputs), name=norm + ".bias")
        self.mean = tf.Variable(tf.zeros(outputs), name=norm + ".mean", trainable=False)
        self.variance = tf.Variable(tf.ones(outputs), name=norm + ".variance", trainable=False)

    def __call__(self, x, training):
        """Cross-correlate; normalise by the batch's mean and variance, or by the running ones."""
        if self.size > 1:
            around = [(1, 1) if axis in self.axes[1:] else (0, 0) for axis in range(4)]
            x = tf.pad(x, around)
        x = tf.nn.conv2d(x, self.kernel, self.stride, "VALID", data_format=self.layout)
        mean, variance = self.mean, self.variance
        if training:
            mean, variance = tf.nn.moments(x, self.axes)
            n = tf.cast(tf.size(x) // x.shape[self.channels], tf.float32)  # in each channel
            self.mean.assign_add((1 - KEPT) * (mean - self.mean))
            self.variance.assign_add((1 - KEPT) * (variance * n / (n - 1) - self.variance))
        channels = [-1 if axis == self.channels else 1 for axis in range(4)]
        terms = (mean, variance, self.shift, self.scale)
        mean, variance, shift, scale = (tf.reshape(term, channels) for term in terms)
        return tf.nn.batch_normalization(x, mean, variance, shift, scale, EPSILON)


class Network(tf.Module):
    """The convolutions of the blocks, a dense layer, and the scores that they give."""

    def __init__(self, layout, depth):
        super().__init__()
        self.start = Convolution("start.conv", "start.norm", layout, 3, 16, size=3)
        self.spatial = (2, 3) if layout == "NCHW" else (1, 2)
        self.blocks, inputs = [], 16
        for stage, blocks in enumerate(BLOCKS[depth], 1):
            width = 8 * 2**stage
            for block in range(1, blocks + 1):
                name = "stage%d.block%d." % (stage, block)
                stride = 2 if stage > 1 and block == 1 else 1
                self.blocks.append(self.block(name, layout, inputs, width, stride, block == 1))
                inputs = 4 * width
        self.weight = tf.Variable(tf.zeros((inputs, 10)), name="dense.weight")
        self.bias = tf.Variable(tf.zeros(10), name="dense.bias")

    @staticmethod
    def block(name, layout, inputs, width, stride, first):
        """A bottleneck's three convolutions, and that of its shortcut, if it has one."""
        sizes = ((inputs, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1))
        body = [
            Convolution("%sconv%d" % (name, k), "%snorm%d" % (name, k), layout, *size)
            for k, size in enumerate(sizes, 1)
        ]
        if not first:
            return body, None
        names = name + "shortcut.conv", name + "shortcut.norm"
        return body, Convolution(*names, layout, inputs, 4 * width, 1, stride)

    def __call__(self, x, training):
        """Scores of a batch of images."""
        x = tf.nn.relu(self.start(x, training))  # (N, 16, 32, 32), or channels last
        for (conv1, conv2, conv3), shortcut in self.blocks:
            y = tf.nn.relu(conv1(x, training))
            y = tf.nn.relu(conv2(y, training))
            x = tf.nn.relu(conv3(y, training) + (shortcut(x, training) if shortcut else x))
        # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
        x = tf.reduce_mean(x, self.spatial)  # (N, 512)
        return tf.matmul(x, self.weight) + self.bias  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(settings["layout"], hp.depth)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    cnn.put(network.variables, weights)
    variables = network.trainable_variables
    velocities = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    def step(x, y):
        with tf.GradientTape() as tape:
            scores = network(x, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)  # (N,)
            step_loss = tf.reduce_mean(losses)
        gradients = tape.gradient(step_loss, variables)  # not for x
        for w, v, g in zip(variables, velocities, gradients):
            if w.shape.rank > 1:  # neither biases nor batch normalisation decay
                g += hp.weight_decay * w
            v.assign(hp.momentum * v + g)
            w.assign_sub(hp.learning_rate * v)
        return step_loss

    return graphs(network, step, settings)


def weights(model):
    """Every weight and the state under its canonical name and in its canonical layout."""
    found = {}
    for variable in model[0].variables:
        w = variable.numpy()
        found[variable.name[: -len(":0")]] = w.transpose(np.argsort(AXES[w.ndim])).copy()
    return found
