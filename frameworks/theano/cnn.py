"""The CNN in Theano.

Idiom: symbolic expressions over shared variables; ``theano.function`` compiles them to C++, and
    its ``updates`` write the new weights.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * g; w = w + v``, written out here: Theano has no optimisers.
Surprise: ``conv2d`` turns the kernels by half a turn unless told ``filter_flip=False``; all other
    frameworks cross-correlate. It trains as well either way, but weights do not carry over.
"""

import os
from collections import OrderedDict

import numpy as np
import theano
from theano import gpuarray
from theano import tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import categorical_crossentropy, conv2d, relu, softmax
from theano.tensor.signal.pool import pool_2d


def configure(lane, threads, seed):
    """Set Theano's flags; return those in force. BLAS and the compile folder are the caller's."""
    best = lane == "best"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when the first compiled function is loaded
    pygpu = gpuarray.pygpu  # libgpuarray's; None where that is not installed
    if pygpu and not gpuarray.pygpu_activated and pygpu.gpuarray.count_devices("cuda", 0):
        gpuarray.use("cuda")
    config = theano.config
    config.floatX = "float32"  # float64 by default: twice the time on a CPU, far more on a GPU
    config.openmp = threads > 1  # images of a batch are shared out, one BLAS thread for each
    config.allow_gc = not best  # buffers of the last step are kept for the next
    config.dnn.conv.algo_fwd = "time_once" if best else "small"  # autotune
    config.dnn.conv.algo_bwd_data = config.dnn.conv.algo_bwd_filter = (
        "time_once" if best else "none"
    )
    return {
        "device": "cuda" if gpuarray.pygpu_activated else "cpu",
        "layout": "NCHW",
        "precision": config.floatX,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
        "seed": seed,
        "mode": config.mode,
        "optimizer": config.optimizer,
        "linker": config.linker,
        "openmp": config.openmp,
        "allow_gc": config.allow_gc,
        "blas.ldflags": config.blas.ldflags,
        "gcc.cxxflags": config.gcc.cxxflags,
        "dnn.conv.algo_fwd": config.dnn.conv.algo_fwd,
        "dnn.conv.algo_bwd_data": config.dnn.conv.algo_bwd_data,
        "dnn.conv.algo_bwd_filter": config.dnn.conv.algo_bwd_filter,
        "not_in_force": []
        if gpuarray.pygpu_activated
        else ["dnn.conv.algo_fwd", "dnn.conv.algo_bwd_data", "dnn.conv.algo_bwd_filter"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def symbol(settings, hp):
    """Scores of symbolic images, with dropout and without, and the shared variables in them."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped; binomial() takes the fraction kept
    random = MRG_RandomStreams(1 + settings["seed"] % 2**30)  # it refuses 0 and 2**31
    shapes = [("conv1", (50, 3, 3, 3)), ("conv2", (50, 50, 3, 3)), ("conv3", (100, 50, 3, 3))]
    shapes += [("conv4", (100, 100, 3, 3)), ("dense1", (512, 6400)), ("dense2", (10, 512))]
    shared = OrderedDict()
    for layer, shape in shapes:
        shared[layer + ".weight"] = theano.shared(np.zeros(shape, "float32"))
        shared[layer + ".bias"] = theano.shared(np.zeros(shape[0], "float32"))

    def conv(h, layer):
        h = conv2d(h, shared[layer + ".weight"], border_mode="half", filter_flip=False)
        return h + shared[layer + ".bias"].dimshuffle("x", 0, "x", "x")

    def dense(h, layer):
        return T.dot(h, shared[layer + ".weight"].T) + shared[layer + ".bias"]

    def dropout(h, rate, training):
        if not training or rate == 0:
            return h
        return h * random.binomial(h.shape, p=1 - rate, dtype="float32") / (1 - rate)

    x = T.tensor4("x")
    scores = []
    for training in (True, False):
        h = relu(conv(x, "conv1"))  # (N, 50, 32, 32)
        h = conv(h, "conv2")
        h = relu(pool_2d(h, (2, 2), ignore_border=True))  # (N, 50, 16, 16)
        h = dropout(h, drop1, training)
        h = relu(conv(h, "conv3"))  # (N, 100, 16, 16)
        h = conv(h, "conv4")
        h = relu(pool_2d(h, (2, 2), ignore_border=True))  # (N, 100, 8, 8)
        h = dropout(h, drop2, training)
        h = relu(dense(h.flatten(2), "dense1"))  # (N, 6400) in the order C, H, W; (N, 512)
        h = dropout(h, drop3, training)
        scores.append(dense(h, "dense2"))  # (N, 10), no softmax: the loss applies it
    return x, scores, shared


def loss(network, settings, hp, weights):
    """Cross-entropy, SGD with momentum as updates, and the shared initial weights put in place."""
    x, (train_scores, predict_scores), shared = network
    y = T.lvector("y")
    # One softmax: Theano joins it with the cross-entropy into one stable expression.
    cost = categorical_crossentropy(softmax(train_scores), y).mean()
    updates = []
    for name, w in shared.items():
        w.set_value(weights[name])
        v = theano.shared(np.zeros_like(weights[name]))
        new_v = hp.momentum * v - hp.learning_rate * T.grad(cost, w)  # none is asked for x
        updates += [(v, new_v), (w, w + new_v)]
    train_step = theano.function([x, y], cost, updates=updates)
    return train_step, theano.function([x], predict_scores), shared


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    train_step = model[0]  # compiled with dropout
    for x, y in batches:
        yield train_step(x, y)  # (N, 3, 32, 32), (N,)


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    predict_step = model[1]  # compiled without: dropout left on costs 5% of accuracy
    return np.concatenate([predict_step(x[i : i + 64]) for i in range(0, len(x), 64)])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name; Theano's layouts are the canonical ones."""
    return {name: shared.get_value() for name, shared in model[2].items()}


def wait(model):
    """Return when the GPU has finished: reading ten numbers waits for all before them."""
    model[2]["dense2.bias"].get_value()
