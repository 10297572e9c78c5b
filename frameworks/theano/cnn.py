"""The CNN in Theano.

Idiom: symbolic expressions over shared variables; ``theano.function`` compiles them to C++, and
    its ``updates`` write the new weights.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * g; w = w + v``, written out here: Theano has no optimisers.
Surprise: ``conv2d`` rotates the kernels by 180 degrees unless given ``filter_flip=False``; the
    others cross-correlate. It trains equally well either way, but the weights do not carry over.
"""

import os
from collections import OrderedDict

import numpy as np
import theano
from theano import gpuarray
from theano import tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import categorical_crossentropy, conv2d, softmax


def configure(lane, threads, seed):
    """Set Theano's flags; return those in force. It reads others, in THEANO_FLAGS, on import."""
    best = lane == "best"
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when the first compiled function is loaded
    pygpu = gpuarray.pygpu  # libgpuarray's; None where that is not installed
    if pygpu and not gpuarray.pygpu_activated and pygpu.gpuarray.count_devices("cuda", 0):
        gpuarray.use("cuda")
    config = theano.config
    config.floatX = "float32"  # float64 by default
    config.dnn.conv.algo_fwd = "time_once" if best else "small"  # autotune
    config.dnn.conv.algo_bwd_data = config.dnn.conv.algo_bwd_filter = (
        "time_once" if best else "none"
    )
    gpu_only = ["dnn.conv.algo_fwd", "dnn.conv.algo_bwd_data", "dnn.conv.algo_bwd_filter"]
    return {
        "device": "cuda" if gpuarray.pygpu_activated else "cpu",
        "layout": "NCHW",
        "precision": config.floatX,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
        "seed": seed,
        "optimizer": "fast_run",
        "linker": "cvm_nogc" if best else "cvm",  # nogc keeps a step's buffers for the next one
        "openmp": config.openmp,  # the images of a batch are divided among the threads
        "blas.ldflags": config.blas.ldflags,
        "dnn.conv.algo_fwd": config.dnn.conv.algo_fwd,
        "dnn.conv.algo_bwd_data": config.dnn.conv.algo_bwd_data,
        "dnn.conv.algo_bwd_filter": config.dnn.conv.algo_bwd_filter,
        "not_in_force": [] if gpuarray.pygpu_activated else gpu_only,
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def variables(**shapes):
    """{name: shared variable} of layers whose weights have these shapes."""
    shared = OrderedDict()
    for layer, shape in shapes.items():
        shared[layer + ".weight"] = theano.shared(np.zeros(shape, "float32"))
        shared[layer + ".bias"] = theano.shared(np.zeros(shape[0], "float32"))
    return shared


def dense(h, shared, layer):
    """A matrix product and a bias."""
    return T.dot(h, shared[layer + ".weight"].T) + shared[layer + ".bias"]


# ``maximum`` gives the gradient of two equal values to the first, so 0 stands first below: ReLU has
# no gradient at 0. ``nnet.relu`` would have half of it, and ``pool_2d`` would give the whole of it
# to every equal maximum.
def relu(h):
    """The larger of h and 0."""
    return T.maximum(0, h)


def max_pool(h):
    """The maximum of each 2x2 window."""
    a, b, c, d = [h[:, :, row::2, column::2] for row in (0, 1) for column in (0, 1)]
    return T.maximum(T.maximum(a, b), T.maximum(c, d))


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Scores of symbolic images, with dropout and without, and the shared variables in them.
    """
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped; binomial() takes the fraction kept
    seed = np.random.RandomState(settings["seed"]).randint(1, 2**30)  # MRG rejects 0 and 2**31
    random = MRG_RandomStreams(int(seed))
    shared = variables(
        conv1=(50, 3, 3, 3),
        conv2=(50, 50, 3, 3),
        conv3=(100, 50, 3, 3),
        conv4=(100, 100, 3, 3),
        dense1=(512, 6400),
        dense2=(10, 512),
    )

    def conv(h, layer):
        h = conv2d(h, shared[layer + ".weight"], border_mode="half", filter_flip=False)
        return h + shared[layer + ".bias"].dimshuffle("x", 0, "x", "x")

    def dropout(h, rate, training):
        if not training or rate == 0:
            return h
        return h * random.binomial(h.shape, p=1 - rate, dtype="float32") / (1 - rate)

    x = T.tensor4("x")
    scores = []
    for training in (True, False):
        h = relu(conv(x, "conv1"))  # (N, 50, 32, 32)
        h = max_pool(relu(conv(h, "conv2")))  # (N, 50, 16, 16)
        h = dropout(h, drop1, training)
        h = relu(conv(h, "conv3"))  # (N, 100, 16, 16)
        h = max_pool(relu(conv(h, "conv4")))  # (N, 100, 8, 8)
        h = dropout(h, drop2, training)
        h = relu(dense(h.flatten(2), shared, "dense1"))  # (N, 6400), order C, H, W; (N, 512)
        h = dropout(h, drop3, training)
        scores.append(dense(h, shared, "dense2"))  # (N, 10), no softmax: the loss applies it
    return x, scores, shared


def compiled(network, y, cost, updates, settings):
    """The model: functions that train and predict, and the shared variables."""
    x, (_, predict_scores), shared = network
    mode = theano.Mode(linker=settings["linker"], optimizer=settings["optimizer"])
    train_step = theano.function([x, y], cost, updates=updates, mode=mode)
    return train_step, theano.function([x], predict_scores, mode=mode), shared


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (train_scores, _), shared = network
    y = T.lvector("y")
    # Theano merges the softmax and the cross-entropy into one operation that does not overflow.
    cost = categorical_crossentropy(softmax(train_scores), y).mean()
    gradients = T.grad(cost, list(shared.values()))  # not for x
    updates = []
    for (name, w), g in zip(shared.items(), gradients):
        w.set_value(weights[name])
        v = theano.shared(np.zeros_like(weights[name]))
        new_v = hp.momentum * v - hp.learning_rate * g
        updates += [(v, new_v), (w, w + new_v)]
    return compiled(network, y, cost, updates, settings)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    train_step = model[0]  # compiled with dropout
    for x, y in batches:
        yield train_step(x, y)  # (N, 3, 32, 32), (N,)


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    predict_step = model[1]  # compiled without dropout
    return np.concatenate([predict_step(x[i : i + 64]) for i in range(0, len(x), 64)])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name; Theano's layouts are the canonical ones."""
    return {name: shared.get_value() for name, shared in model[2].items()}


def wait(model):
    """Return when the GPU has finished: reading the last bias waits for all work before it."""
    list(model[2].values())[-1].get_value()
