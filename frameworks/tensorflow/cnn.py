"""The CNN in TensorFlow 2, below Keras.

Idiom: ``tf.nn`` on the variables of a ``tf.Module``; a ``GradientTape`` in a ``tf.function``, whose
    Python runs once, to record a graph.
Layout: NCHW; NHWC on a CPU in the best lane, and wherever oneDNN is off, because only oneDNN runs
    NCHW on a CPU.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: ``tf.nn.dropout`` forgets ``tf.random.set_seed`` where XLA compiles it. A
    ``tf.random.Generator`` has its state in a variable, so it keeps its seed there.
"""

import os

import numpy as np
import tensorflow as tf
from tensorflow.python.util._pywrap_util_port import IsMklEnabled  # it has no public name

AXES = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}  # from canonical to TensorFlow's (y, x, in, out)


def configure(lane, threads, seed):
    """Set threads, seed, precision and autotune; return the settings in force."""
    best, onednn = lane == "best", IsMklEnabled()  # TF_ENABLE_ONEDNN_OPTS, read by the import
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)  # not all of it at once
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    # In the backward pass, a layer's gradients of kernel and images do not wait for each other.
    # Two operations at once keep more than ``threads`` cores busy if the machine has more.
    at_once = threads if best and threads == os.cpu_count() else 1
    tf.config.threading.set_inter_op_parallelism_threads(at_once)
    tf.get_logger().setLevel("ERROR")  # it warns of retracing if a second model is made
    tf.config.experimental.enable_tensor_float_32_execution(False)  # on by default
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if best else "0"  # read when a kernel is made
    return {
        "device": "cuda" if gpus else "cpu",
        "layout": "NCHW" if gpus or onednn and not best else "NHWC",
        "precision": "float32",
        "threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "threads_between_operations": tf.config.threading.get_inter_op_parallelism_threads(),
        "seed": seed,
        "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "onednn": onednn,
        "graph": True,
        "jit": bool(best and gpus),  # XLA, whose own convolutions are slow on a CPU
        "not_in_force": [] if gpus else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # swapping axes 1 and 3 would also transpose the images
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    return images, labels


def layer(name, *shape):
    """A layer's kernel of this shape, whose last axis is out, and its bias."""
    kernel = tf.Variable(tf.zeros(shape), name=name + ".weight")
    return kernel, tf.Variable(tf.zeros(shape[-1]), name=name + ".bias")


class Network(tf.Module):
    """A kernel and a bias for each layer, and the scores that they give."""

    def __init__(self, layout, dropout, seed):
        super().__init__()
        self.layout, self.dropout = layout, dropout
        self.random = tf.random.Generator.from_seed(seed)
        self.conv1 = layer("conv1", 3, 3, 3, 50)
        self.conv2 = layer("conv2", 3, 3, 50, 50)
        self.conv3 = layer("conv3", 3, 3, 50, 100)
        self.conv4 = layer("conv4", 3, 3, 100, 100)
        self.dense1 = layer("dense1", 6400, 512)
        self.dense2 = layer("dense2", 512, 10)

    def convolution(self, x, weights):
        """Cross-correlate with a 3x3 kernel and add its bias."""
        kernel, bias = weights
        x = tf.nn.conv2d(x, kernel, 1, "SAME", data_format=self.layout)
        return tf.nn.bias_add(x, bias, data_format=self.layout)

    def pool(self, x):
        """Take the maximum of each 2x2 window."""
        return tf.nn.max_pool2d(x, 2, 2, "VALID", data_format=self.layout)

    def drop(self, x, fraction):
        """Set this fraction of the values to 0 and scale up the rest, which keeps the mean."""
        return tf.nn.experimental.general_dropout(x, fraction, self.random.uniform)

    def __call__(self, x, training):
        """Scores of a batch of images."""
        drop1, drop2, drop3 = self.dropout if training else (0, 0, 0)  # the fraction dropped
        x = tf.nn.relu(self.convolution(x, self.conv1))  # (N, 50, 32, 32), or channels last
        x = self.pool(tf.nn.relu(self.convolution(x, self.conv2)))  # (N, 50, 16, 16)
        x = self.drop(x, drop1)
        x = tf.nn.relu(self.convolution(x, self.conv3))  # (N, 100, 16, 16)
        x = self.pool(tf.nn.relu(self.convolution(x, self.conv4)))  # (N, 100, 8, 8)
        x = self.drop(x, drop2)
        if self.layout == "NHWC":
            x = tf.transpose(x, (0, 3, 1, 2))  # (N, 100, 8, 8), the order of the shared weights
        x = tf.reshape(x, (-1, 6400))  # (N, 6400)
        weight, bias = self.dense1
        x = tf.nn.relu(tf.matmul(x, weight) + bias)  # (N, 512)
        x = self.drop(x, drop3)
        weight, bias = self.dense2
        return tf.matmul(x, weight) + bias  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(settings["layout"], hp.dropout, settings["seed"])


def put(variables, weights):
    """Copy the canonical weights into the variables with the same names."""
    for variable in variables:
        w = weights[variable.name[: -len(":0")]]
        variable.assign(w.transpose(AXES[w.ndim]))


def graphs(network, step, settings):
    """The model: the network, and its training step and its scores as graphs."""

    def forward(x):
        return network(x, training=False)

    step = tf.function(step, jit_compile=settings["jit"])
    forward = tf.function(forward, jit_compile=settings["jit"], reduce_retracing=True)
    return network, step, forward


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    variables = network.trainable_variables
    put(variables, weights)
    velocities = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    def step(x, y):
        with tf.GradientTape() as tape:
            scores = network(x, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, scores)  # (N,)
            step_loss = tf.reduce_mean(losses)
        gradients = tape.gradient(step_loss, variables)  # not for x
        for w, v, g in zip(variables, velocities, gradients):
            v.assign(hp.momentum * v + g)
            w.assign_sub(hp.learning_rate * v)
        return step_loss

    return graphs(network, step, settings)


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    step = model[1]
    for x, y in batches:  # already shuffled; ``tf.data`` would only mix within its buffer
        yield step(x, y)


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    forward = model[2]
    scores = [forward(x[first : first + 256]).numpy() for first in range(0, len(x), 256)]
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(tf.reduce_mean(tf.cast(tf.argmax(scores, 1) == labels, tf.float32)))


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    found = {}
    for variable in model[0].trainable_variables:
        w = variable.numpy()
        found[variable.name[: -len(":0")]] = w.transpose(np.argsort(AXES[w.ndim])).copy()
    return found


def wait(model):
    """Return when the GPU has finished; the CPU runs each step before it returns."""
    tf.test.experimental.sync_devices()
