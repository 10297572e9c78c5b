"""The CNN in TensorFlow 1: a graph and a session.

Idiom: ``tf.nn`` on variables that ``tf.get_variable`` shares by name; a whole graph is built first,
    with placeholders for its inputs, and then run by a ``Session``.
Layout: NCHW. On a CPU, NHWC in lane best, and wherever MKL-DNN is missing: no other kernels for a
    CPU take NCHW.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: the second argument of ``tf.nn.dropout`` is the fraction to *keep*; in TensorFlow 2 that
    position is the fraction to drop. ``rate=`` is the fraction to drop in both.
"""

import os

import numpy as np
import tensorflow as tf
from tensorflow.python.pywrap_tensorflow import IsMklEnabled  # it has no public name

LAYERS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")
AXES = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}  # from canonical to TensorFlow's (y, x, in, out)


def configure(lane, threads, seed):
    """Set threads and autotune; return the settings. ``loss`` applies seed and JIT."""
    best = lane == "best"
    gpus = tf.config.experimental.list_physical_devices("GPU")
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if best else "0"  # read when a kernel is made
    # The first session of a process makes the thread pools for all that follow, whatever their
    # ``ConfigProto`` says. The environment keeps the first numbers, for all sessions.
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(threads))
    os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")  # the layers are a chain
    mkl_dnn = IsMklEnabled() and os.environ.get("TF_DISABLE_MKL") != "1"  # read by the import
    return {
        "device": "cuda" if gpus else "cpu",
        "layout": "NCHW" if gpus or mkl_dnn and not best else "NHWC",
        "precision": "float32",
        "threads": int(os.environ["TF_NUM_INTRAOP_THREADS"]),
        "threads_between_operations": int(os.environ["TF_NUM_INTEROP_THREADS"]),
        "seed": seed,
        "autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] == "1",
        "mkl_dnn": mkl_dnn,
        "graph": True,
        "jit": bool(best and gpus),  # XLA; a CPU also needs it in TF_XLA_FLAGS
        "not_in_force": [] if gpus else ["autotune"],
    }


def load(images, labels, settings):
    """Float32 images in the settings' layout, and int64 class numbers (n,) as they are."""
    if settings["layout"] == "NHWC":  # swapping axes 1 and 3 would also transpose the images
        images = np.ascontiguousarray(images.transpose(0, 2, 3, 1))  # (n, 32, 32, 3)
    return images, labels


class Network:
    """The nodes from images to scores; a second call shares the first one's variables."""

    def __init__(self, layout, dropout):
        self.layout, self.dropout = layout, dropout

    def variables(self, name, *shape):
        """A kernel and a bias by name, made when first asked for."""
        with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
            return tf.get_variable("weight", shape), tf.get_variable("bias", shape[-1:])

    def convolution(self, x, name, inputs, outputs):
        """Cross-correlate with a 3x3 kernel and add its bias."""
        kernel, bias = self.variables(name, 3, 3, inputs, outputs)
        x = tf.nn.conv2d(x, kernel, 1, "SAME", data_format=self.layout)
        return tf.nn.bias_add(x, bias, data_format=self.layout)

    def pool(self, x):
        """Take the maximum of each 2x2 window."""
        return tf.nn.max_pool2d(x, 2, 2, "VALID", data_format=self.layout)

    def __call__(self, x, training):
        """Scores of a batch of images."""
        drop1, drop2, drop3 = self.dropout if training else (0, 0, 0)  # the fraction dropped
        x = tf.nn.relu(self.convolution(x, "conv1", 3, 50))  # (N, 50, 32, 32), or channels last
        # Pool first: it leaves ReLU a quarter of the work, which saves 6% of a step in lane best.
        x = tf.nn.relu(self.pool(self.convolution(x, "conv2", 50, 50)))  # (N, 50, 16, 16)
        x = tf.nn.dropout(x, rate=drop1)
        x = tf.nn.relu(self.convolution(x, "conv3", 50, 100))  # (N, 100, 16, 16)
        x = tf.nn.relu(self.pool(self.convolution(x, "conv4", 100, 100)))  # (N, 100, 8, 8)
        x = tf.nn.dropout(x, rate=drop2)
        if self.layout == "NHWC":
            x = tf.transpose(x, (0, 3, 1, 2))  # (N, 100, 8, 8), the order of the shared weights
        x = tf.reshape(x, (-1, 6400))  # (N, 6400)
        weight, bias = self.variables("dense1", 6400, 512)
        x = tf.nn.relu(tf.matmul(x, weight) + bias)  # (N, 512)
        x = tf.nn.dropout(x, rate=drop3)
        weight, bias = self.variables("dense2", 512, 10)
        return tf.matmul(x, weight) + bias  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer; ``loss`` adds it to a graph."""
    return Network(settings["layout"], hp.dropout)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    image = {"NCHW": (3, 32, 32), "NHWC": (32, 32, 3)}[settings["layout"]]
    config = tf.ConfigProto(
        intra_op_parallelism_threads=settings["threads"],
        inter_op_parallelism_threads=settings["threads_between_operations"],
    )
    config.gpu_options.allow_growth = True  # not all of its memory at once
    if settings["jit"]:
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(settings["seed"])  # of this graph
        x = tf.placeholder(tf.float32, (hp.batch_size,) + image)  # (N, ...), a static shape
        y = tf.placeholder(tf.int64, (hp.batch_size,))
        scores = network(x, training=True)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores)  # (N,)
        step_loss = tf.reduce_mean(losses)
        optimizer = tf.train.MomentumOptimizer(hp.learning_rate, hp.momentum)
        update = optimizer.minimize(step_loss)
        rows = tf.placeholder(tf.float32, (None,) + image)  # (n, ...)
        forward = network(rows, training=False)
        session = tf.Session(graph=graph, config=config)
        session.run(tf.global_variables_initializer())
        # By default Glorot uniform, as here, but for biases, too: n numbers within +-sqrt(3 / n).
        for variable, w in zip(tf.trainable_variables(), weights.values()):
            variable.load(w.transpose(AXES[w.ndim]), session)
    graph.finalize()  # a node added later, in a loop, is now an error and not a leak
    return session, (x, y, step_loss, update), (rows, forward)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    session, (x, y, step_loss, update), _ = model
    for images, labels in batches:
        yield session.run([step_loss, update], {x: images, y: labels})[0]


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    session, _, (rows, forward) = model
    parts = [x[first : first + 256] for first in range(0, len(x), 256)]
    return np.concatenate([session.run(forward, {rows: part}) for part in parts])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    names = [layer + kind for layer in LAYERS for kind in (".weight", ".bias")]
    session = model[0]
    arrays = session.run(session.graph.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES))
    return {n: a.transpose(np.argsort(AXES[a.ndim])).copy() for n, a in zip(names, arrays)}


def wait(model):
    """Return at once: a session returns when the device has finished."""
