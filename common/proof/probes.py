"""Weights, images and labels that make one property of a model visible.

They need nothing of a framework but that weights can be put in, trained for a step and taken out,
so the same probe serves every framework, alive or dead.
"""

import numpy as np

from common.given import batches, synthetic

CERTAIN = 4096.0  # the last bias of class 0 that leaves nothing to the other classes


def zeros(model):
    """All-zero canonical weights."""
    return {name: np.zeros(shape, np.float32) for name, shape in model.shapes.items()}


def layers(model):
    """The names of the layers that have weights, in order."""
    return [name[: -len(".weight")] for name in model.shapes if name.endswith(".weight")]


def images(model, n, seed):
    """Images (n, channels, height, width) in [0, 1] with a flat patch in each, and labels (n,).

    Photographs have such patches: sky, and black or white ground. In a patch whole pooling windows
    are equal; a quarter of the patches is black, where a convolution without bias gives exactly 0.
    """
    drawn, labels, _, _ = synthetic.make(n, 0)
    channels, height, width = model.image
    random = np.random.RandomState([seed, n])
    order = random.permutation(n)
    drawn, labels = batches.as_float(drawn[order, :channels, :height, :width]), labels[order]
    for image in drawn:
        size = random.randint(6, 15)
        row, column = random.randint(0, height - size + 1), random.randint(0, width - size + 1)
        colour = random.uniform(0, 1, (channels, 1, 1)) * (random.randint(4) > 0)
        image[:, row : row + size, column : column + size] = colour
    return drawn, labels


def biased(model, seed):
    """The model's initial weights, with biases as training leaves them; every fifth one stays 0."""
    random = np.random.RandomState(seed)
    weights = model.initialize(model.shapes, seed)
    for w in weights.values():
        if w.ndim == 1:
            w[:] = random.uniform(-0.1, 0.1, w.shape)
            w[::5] = 0
    return weights


def pass_through(model):
    """Weights under which every layer hands its input on, as far as its shape lets it.

    A convolution copies channel c to channels c, c + inputs, ...; a dense layer picks some of its
    inputs, spread over all of them; the last one sums the hidden units by their number modulo the
    classes. Scores then tell which feature stood where.
    """
    weights = zeros(model)
    for layer in layers(model):
        w = weights[layer + ".weight"]
        outputs, inputs = w.shape[:2]
        if w.ndim == 4:
            for out in range(outputs):
                w[out, out % inputs, w.shape[2] // 2, w.shape[3] // 2] = 1
        elif outputs == model.classes:
            for feature in range(inputs):
                w[feature % outputs, feature] = (1 + feature % 7) / 64.0
        else:
            for out in range(outputs):
                # 1741 is a prime, so the picks wander over all channels and positions.
                w[out, out * 1741 % inputs] = 1
    return weights


def up_to(model, layer, weights):
    """``weights`` as far as ``layer`` inclusive, ``pass_through`` behind it; None: nowhere."""
    mixed = pass_through(model)
    for name in model.shapes if layer is not None else ():
        mixed[name] = weights[name]
        if name == layer + ".bias":
            break
    return mixed


def certain(weights):
    """``weights`` with a last bias that says class 0 whatever the image."""
    last = list(weights)[-1]
    weights = dict(weights, **{last: weights[last].copy()})
    weights[last][0] = CERTAIN
    return weights


def counted(model, batch_size, count):
    """A batch for a model that is certain of class 0, of which ``count`` labels are not 0.

    Each of these has a loss of about ``CERTAIN``, all others none: the loss of a step tells which
    batch it was.
    """
    labels = np.zeros(batch_size, np.int64)
    labels[:count] = 1 + np.arange(count) % (model.classes - 1)
    return np.zeros((batch_size,) + model.image, np.float32), labels


def graded(classes):
    """Scores (n, classes), labels (n,), and how many of the rows are right.

    Made so that half of the rows, labels off by one, and a label among the two highest each give
    another number.
    """
    random = np.random.RandomState(3)
    n = 301
    scores = random.permutation(n * classes).reshape(n, classes).astype(np.float32)
    ranked = scores.argsort(1)
    labels = ranked[:, 0].astype(np.int64)  # the least likely class: wrong
    labels[:97] = ranked[:97, -1]  # right
    labels[97:190] = ranked[97:190, -2]  # right only if two are counted
    return scores, labels, 97
