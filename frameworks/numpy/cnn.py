"""The CNN in NumPy, forward and backward from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass, from ``layers.py`` and, for
    convolutions, ``strips.py``.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW from ``load``; inside, channels-last "strips" of images that share their zero borders.
Momentum: ``v = momentum * v - lr * g; w = w + v``, in place, the learning rate in the velocity.
Surprise: ``ConvolutionReLU`` pools before it adds the bias and applies ReLU: the maximum commutes
    with both, and a quarter of the work is left.
"""

import os

import numpy as np

from frameworks.numpy.layers import Dense, Dropout, ReLU, cross_entropy, every, put, to_numpy, xp
from frameworks.numpy.optimizers import Momentum
from frameworks.numpy.strips import ConvolutionReLU, FromStrip, ToStrip


def configure(lane, threads, seed):
    """Return the settings; the caller has set BLAS's threads."""
    off = ["idle_blas"] if threads == 1 or xp is not np else []  # no other thread could be idle
    return {
        "device": "cpu" if xp is np else "cuda",
        "layout": "NCHW",
        "precision": "float32",  # "float64" makes the whole run float64
        "ties": "one",  # only the first of equal pixels in a pool gets the gradient
        "threads": threads,
        "seed": seed,
        "chunk_images": 4 if xp is np else 64,  # images per piece of work in a convolution
        # Threads that share a batch's images; within each, BLAS uses one thread.
        "shares": threads if lane == "best" and xp is np else 1,
        "idle_blas": "sleeps" if os.environ.get("OPENBLAS_THREAD_TIMEOUT") == "4" else "spins",
        "not_in_force": off,
    }


def load(images, labels, settings):
    """Images (n, 3, 32, 32) in the run's precision, class numbers (n,); both in NumPy."""
    return images.astype(settings["precision"], copy=False), labels


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped
    random = xp.random.RandomState(settings["seed"])
    return [
        ToStrip(settings),
        ConvolutionReLU(settings, "conv1", 3, 50, side=32, input_gradient=False),  # 50 x 32 x 32
        ConvolutionReLU(settings, "conv2", 50, 50, side=32, pool=True),  # 50 x 16 x 16
        Dropout(settings, drop1, random),
        ConvolutionReLU(settings, "conv3", 50, 100, side=16),  # 100 x 16 x 16
        ConvolutionReLU(settings, "conv4", 100, 100, side=16, pool=True),  # 100 x 8 x 8
        Dropout(settings, drop2, random),
        FromStrip(settings, side=8),  # (N, 6400)
        Dense(settings, "dense1"),  # (N, 512)
        ReLU(settings),
        Dropout(settings, drop3, random),
        Dense(settings, "dense2"),  # (N, 10)
    ]


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    return network, cross_entropy, Momentum(network, hp)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    network, criterion, optimizer = model
    for x, y in batches:
        x = xp.asarray(x)  # (N, 3, 32, 32)
        for layer in network:
            x = layer.forward(x, training=True)
        step_loss, g = criterion(x, xp.asarray(y))
        for layer in reversed(network):
            g = layer.backward(g)
        optimizer.step()
        yield step_loss


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    scores = []
    for first in range(0, len(x), 64):
        part = xp.asarray(x[first : first + 64])
        for layer in model[0]:
            part = layer.forward(part, training=False)
        scores.append(to_numpy(part))
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """All weights by canonical name, in the run's precision."""
    arrays = {}
    for layer in every(model[0]):
        for kind, w in zip(layer.kinds, layer.canonical()):
            arrays["%s.%s" % (layer.name, kind)] = np.array(to_numpy(w), order="C")
    return arrays


def wait(model):
    """Return when the GPU has finished; NumPy never returns before."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()
