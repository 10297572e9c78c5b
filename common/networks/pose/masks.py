"""Dropout seen through the weights: which values each of the two layers kept.

In each observation another joint alone is visible, so each output has its gradient from one
observation. A unit of the second hidden layer feeds the x of one joint. What its weights receive
is that observation's first hidden layer after dropout; what the weights of the joint's y receive,
which are 0, is the second one. The first hidden layer is its bias: what the images add to it is
rounded away, but the images show in what its weights receive. They get brighter to the right and to
the bottom, so that no two pixels of a pool are equal and no flip or shift leaves them as they are.
The learning rate is so small that a step does not disturb the next one, and the weights of y stay
so near 0 that next to nothing comes back from there.
"""

import numpy as np

from common.proof import probes, tasks
from common.proof.masks import Masks, before_layer

SEEN = 14  # observations whose masks are seen: the first ones of a batch, one for each joint
RATES = (0.3, 0.4)  # not alike, so that exchanged layers show, and neither the recipe's
UNKNOWN = ()  # tensors whose gradient depends on masks that are not seen
FAINT = 2.0**-40  # every weight of the first dense layer
TARGET = (-1, -1 / 4.0, 1)  # of the one visible joint


def batch(model, batch_size):
    """(weights, images, targets) of a training step that shows the masks."""
    weights = probes.pass_through(model)
    weights["conv3.weight"] *= 2**1.5  # what two local response normalisations have divided by
    weights["dense1.weight"][:] = FAINT
    weights["dense1.bias"][:] = 1
    w = weights["dense2.weight"]
    w[:] = 2.0 ** -np.ceil(np.log2(w.shape[1])) / 16
    weights["dense3.weight"][:] = 0
    for hidden in range(len(weights["dense2.bias"])):
        weights["dense3.weight"][2 * (hidden % SEEN), hidden] = 1 / 16.0
    targets = tasks.of(model).none(batch_size)
    for n in range(SEEN):
        targets[n, n] = TARGET
    return weights, images(batch_size, model.observation), targets


def images(n, shape):
    """Images (n, channels, height, width) that get brighter to the right and to the bottom."""
    channels, height, width = shape
    pixels = 1 + np.arange(height).reshape(-1, 1) / 256.0 + np.arange(width) / 1024.0
    own = (1 + np.arange(n) / 32.0).reshape(-1, 1, 1, 1)
    return np.float32(own * pixels / np.arange(1, 1 + channels).reshape(-1, 1, 1))


def observe(before, after, tied):
    """The ``Masks`` of a step on ``batch`` that turned weights ``before`` into ``after``.

    tied: not needed, nothing before a pool is looked at. ValueError where nothing came through a
    layer at all.
    """
    before = {name: w.astype(np.float64) for name, w in before.items()}
    step = {name: before[name] - after[name] for name in before}
    x = 2 * np.arange(SEEN)  # the outputs of all joints' x
    into_x, into_y = step["dense3.bias"][x], step["dense3.bias"][x + 1]
    if not (into_x.all() and into_y.all()):
        raise ValueError("an observation left no gradient")
    second = step["dense3.weight"][x + 1] / into_y[:, None]  # (14, units)
    units = second.shape[1]
    first = np.empty((SEEN, len(before["dense1.bias"])))
    returned = np.empty_like(first)  # what came back to it, times the learning rate
    came_back = np.empty(units)  # to each observation's own units
    for n in range(SEEN):
        fed = np.arange(n, units, SEEN)
        first[n], returned[n] = before_layer("dense2", fed, before, step)
        came_back[fed] = step["dense2.bias"][fed] / (into_x[n] * before["dense3.weight"][x[n], fed])
    second /= first.dot(before["dense2.weight"].T) + before["dense2.bias"]
    first /= before["dense1.bias"]
    own = np.arange(units)
    feature = images(SEEN, (1, 62, 62))[:, :, 61, 61]  # the pixel that becomes the first feature
    backward = {
        1: (step["dense1.weight"][:, 0], (returned * first * feature).sum(0)),
        2: (came_back, second[own % SEEN, own]),
    }
    return Masks({1: first, 2: second}, dict(enumerate(RATES, 1)), backward)


def telling(joints):
    """All of them."""
    return joints
