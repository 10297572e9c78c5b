"""The CNN in PyTensor.

Idiom: symbolic expressions over shared variables; ``pytensor.function`` compiles them (by default
    with Numba, here to C++), and its ``updates`` write the new weights and the next state of the
    random numbers.
Layout: NCHW from ``load``; inside (N, H, W, C), each image in a frame of zeros.
Momentum: ``v = momentum * v - lr * g; w = w + v``, written out here: PyTensor has no optimisers.
Surprise: ``tensor.signal.convolve2d`` flips the kernel and sums over no channels, and nothing
    pools. So a convolution is a sum of products here, one for each pixel of its kernel.
"""

import functools
import os

import numpy as np
import pytensor
from pytensor import tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode


def configure(lane, threads, seed):
    """Set PyTensor's flags; return those in force. PYTENSOR_FLAGS has others."""
    best = lane == "best"
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when the first compiled function is loaded
    config = pytensor.config
    config.floatX = "float32"  # float64 by default
    config.openmp = threads > 1  # large arrays are divided among the threads
    return {
        "device": "cpu",
        "layout": "NCHW",
        "precision": config.floatX,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
        "seed": seed,
        "optimizer": "fast_run",
        "linker": "cvm_nogc" if best else "cvm",  # nogc keeps a step's buffers for the next one
        "openmp": config.openmp,
        "blas__ldflags": config.blas__ldflags,
        "not_in_force": [],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def variables(**shapes):
    """{name: shared variable} of layers whose weights have these shapes."""
    shared = {}
    for layer, shape in shapes.items():
        for kind, dims in (("weight", shape), ("bias", shape[:1])):
            name = "%s.%s" % (layer, kind)
            shared[name] = pytensor.shared(np.zeros(dims, "float32"), name, shape=dims)
    return shared


def framed(h):
    """Images (N, H, W, C) in a frame of zeros, one pixel wide."""
    _, height, width, channels = h.type.shape
    blank = pt.zeros((h.shape[0], height + 2, width + 2, channels), "float32")
    return blank[:, 1:-1, 1:-1].set(h)


def shifts(rows, width, size):
    """What each pixel of a kernel is multiplied by: the images' pixels as rows, shifted."""
    count = rows.shape[0] - (size - 1) * (width + 1)
    firsts = [y * width + x for y in range(size) for x in range(size)]
    return [rows[first : first + count] for first in firsts]


def correlate(rows, kernel, width, size):
    """Pixels (n, in) and a kernel (size * size, in, out): what starts at each pixel, (m, out)."""
    return sum(pt.dot(part, kernel[k]) for k, part in enumerate(shifts(rows, width, size)))


@functools.lru_cache(maxsize=None)
def correlation(width, size, inputs, outputs):
    """The operation of pixels and a kernel, with a gradient that is a correlation, too."""

    def gradient(arguments, results, upper):
        (rows, kernel), (g,) = arguments, upper
        around = pt.zeros(((size - 1) * (width + 1), outputs), "float32")
        turned = kernel[::-1].transpose(0, 2, 1)
        products = [pt.dot(part.T, g) for part in shifts(rows, width, size)]
        back = correlate(pt.concatenate([around, g, around]), turned, width, size)
        return [back, pt.stack(products)]

    rows = pt.tensor("rows", shape=(None, inputs), dtype="float32")
    kernel = pt.tensor("kernel", shape=(size * size, inputs, outputs), dtype="float32")
    result = correlate(rows, kernel, width, size)
    return OpFromGraph([rows, kernel], [result], pullback=gradient, inline=True)


def conv(h, shared, layer, start):
    """Cross-correlate images (N, H, W, C) and add the bias; the first result is at pixel ``start``.

    Where a kernel does not fit into an image, the result means nothing.
    """
    weight = shared[layer + ".weight"]
    outputs, inputs, size, _ = weight.type.shape
    _, height, width, _ = h.type.shape
    kernel = weight.transpose(2, 3, 1, 0).reshape((size * size, inputs, outputs))
    rows = h.reshape((-1, inputs))
    result = correlation(width, size, inputs, outputs)(rows, kernel)
    blank = pt.zeros((rows.shape[0], outputs), "float32")
    placed = blank[start : start + result.shape[0]].set(result)
    return placed.reshape((-1, height, width, outputs)) + shared[layer + ".bias"]


def same_conv(h, shared, layer):
    """Cross-correlate framed images with a 3x3 kernel, add the bias and blank the frame."""
    _, height, width, _ = h.type.shape
    inside = framed(pt.ones((1, height - 2, width - 2, 1), "float32"))
    return conv(h, shared, layer, start=width + 1) * inside


# ``maximum`` gives the gradient of two equal values to the first, so 0 stands first below: ReLU has
# no gradient at 0. A maximum along an axis would give the whole of it to each.
def relu(h):
    """The larger of h and 0."""
    return pt.maximum(0, h)


def max_pool(h):
    """The maximum of each 2x2 window."""
    a, b, c, d = [h[:, y::2, x::2] for y in (0, 1) for x in (0, 1)]
    return pt.maximum(pt.maximum(a, b), pt.maximum(c, d))


def dense(h, shared, layer):
    """A matrix product and a bias."""
    return pt.dot(h, shared[layer + ".weight"].T) + shared[layer + ".bias"]


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Symbolic images, their scores with dropout and without, the shared variables in them, and the
    random numbers' state with its update.
    """
    first = pt.random.shared_rng(seed=settings["seed"], name="random")
    shared = variables(
        conv1=(50, 3, 3, 3),
        conv2=(50, 50, 3, 3),
        conv3=(100, 50, 3, 3),
        conv4=(100, 100, 3, 3),
        dense1=(512, 6400),
        dense2=(10, 512),
    )

    x = pt.tensor("x", shape=(None, 3, 32, 32), dtype="float32")

    def dropout(h, rate, random):
        if random is None or rate == 0:
            return random, h
        random, drawn = random.uniform(size=(x.shape[0], *h.type.shape[1:]))
        return random, h * (drawn >= rate) / np.float32(1 - rate)

    def scores(random):
        drop1, drop2, drop3 = hp.dropout  # the fraction dropped
        h = framed(x.transpose(0, 2, 3, 1))  # (N, 34, 34, 3)
        h = relu(same_conv(h, shared, "conv1"))  # (N, 34, 34, 50)
        h = relu(same_conv(h, shared, "conv2"))
        h = max_pool(h[:, 1:-1, 1:-1])  # (N, 16, 16, 50)
        random, h = dropout(h, drop1, random)
        h = relu(same_conv(framed(h), shared, "conv3"))  # (N, 18, 18, 100)
        h = relu(same_conv(h, shared, "conv4"))
        h = max_pool(h[:, 1:-1, 1:-1])  # (N, 8, 8, 100)
        random, h = dropout(h, drop2, random)
        h = h.transpose(0, 3, 1, 2).reshape((-1, 6400))  # (N, 6400), in the order C, H, W
        h = relu(dense(h, shared, "dense1"))  # (N, 512)
        random, h = dropout(h, drop3, random)
        return random, dense(h, shared, "dense2")  # (N, 10), no softmax: the loss applies it

    last, training = scores(first)
    _, prediction = scores(None)
    return x, (training, prediction), shared, {first: last}


def compiled(network, y, cost, updates, settings):
    """The model: functions that train and predict, and the shared variables."""
    x, (_, prediction), shared, random = network
    mode = Mode(linker=settings["linker"], optimizer=settings["optimizer"])
    train_step = pytensor.function([x, y], cost, updates={**updates, **random}, mode=mode)
    return train_step, pytensor.function([x], prediction, mode=mode), shared


def cross_entropy(scores, y):
    """Softmax cross-entropy, the mean over the batch."""
    logarithms = pt.special.log_softmax(scores, axis=1)  # of all scores at once without the axis
    return -logarithms[pt.arange(y.shape[0]), y].mean()


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (scores, _), shared, _ = network
    y = pt.lvector("y")
    cost = cross_entropy(scores, y)
    gradients = pt.grad(cost, list(shared.values()))  # none is asked for x
    updates = {}
    for (name, w), g in zip(shared.items(), gradients):
        w.set_value(weights[name])
        v = pytensor.shared(np.zeros_like(weights[name]))
        updates[v] = hp.momentum * v - hp.learning_rate * g
        updates[w] = w + updates[v]
    return compiled(network, y, cost, updates, settings)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    train_step = model[0]  # compiled with dropout
    for x, y in batches:
        yield train_step(x, y)  # (N, 3, 32, 32), (N,)


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    predict_step = model[1]  # compiled without dropout
    return np.concatenate([predict_step(x[i : i + 64]) for i in range(0, len(x), 64)])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name; their layouts are ours, the canonical ones."""
    return {name: shared.get_value() for name, shared in model[2].items()}


def wait(model):
    """Nothing to wait for: each step has been computed when its function returns."""
