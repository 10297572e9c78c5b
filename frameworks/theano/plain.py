"""The CNN in Theano as a tutorial writes it: shared data, ``conv2d``, ``pool_2d``, ``givens``.

The bench times it beside the lanes: ``tox run -e bench -- theano:plain theano:best``.
"""

import numpy as np
import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams
from theano.tensor.nnet import categorical_crossentropy, conv2d, relu, softmax
from theano.tensor.signal.pool import pool_2d

theano.config.floatX = "float32"
random = MRG_RandomStreams()


def shared(array):
    """A float32 variable with these initial values."""
    return theano.shared(np.asarray(array, "float32"))


def weights(*shape):
    """A layer's weight, in the range of Glorot and Bengio (2010), and its bias of zeros."""
    fan_out, fan_in = shape[0] * int(np.prod(shape[2:])), int(np.prod(shape[1:]))
    bound = np.sqrt(6 / (fan_in + fan_out))
    return shared(np.random.uniform(-bound, bound, shape)), shared(np.zeros(shape[0]))


def dropout(x, fraction):
    """Drop a fraction, and scale the rest."""
    return x * random.binomial(x.shape, p=1 - fraction, dtype="float32") / (1 - fraction)


def build(learning_rate=0.01):
    """The model: the data and the compiled step."""
    shapes = [(50, 3, 3, 3), (50, 50, 3, 3), (100, 50, 3, 3), (100, 100, 3, 3)]
    params = [weights(*shape) for shape in shapes + [(512, 6400), (10, 512)]]

    def conv(x, layer):
        w, b = params[layer]
        return relu(conv2d(x, w, border_mode="half") + b.dimshuffle("x", 0, "x", "x"))

    x, y, index = T.tensor4("x"), T.lvector("y"), T.lscalar("index")
    h = conv(x, 0)  # (N, 50, 32, 32)
    h = pool_2d(conv(h, 1), (2, 2), ignore_border=True)  # (N, 50, 16, 16)
    h = dropout(h, 0.25)
    h = conv(h, 2)  # (N, 100, 16, 16)
    h = pool_2d(conv(h, 3), (2, 2), ignore_border=True)  # (N, 100, 8, 8)
    h = dropout(h, 0.25)
    h = relu(T.dot(h.flatten(2), params[4][0].T) + params[4][1])  # (N, 6400), (N, 512)
    h = dropout(h, 0.5)
    scores = T.dot(h, params[5][0].T) + params[5][1]  # (N, 10)
    cost = categorical_crossentropy(softmax(scores), y).mean()

    updates = []
    for w in [w for layer in params for w in layer]:
        v = shared(np.zeros(w.get_value().shape))
        new_v = np.float32(0.9) * v - np.float32(learning_rate) * T.grad(cost, w)
        updates += [(v, new_v), (w, w + new_v)]
    images, labels = shared(np.zeros((0, 3, 32, 32))), theano.shared(np.zeros(0, "int64"))
    rows = slice(64 * index, 64 * (index + 1))
    step = theano.function(
        [index], cost, updates=updates, givens={x: images[rows], y: labels[rows]}
    )
    return images, labels, step


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    its_images, its_labels, step = model
    its_images.set_value(images)
    its_labels.set_value(labels)
    for index in range(len(images) // 64):
        loss = step(index)
    return loss
