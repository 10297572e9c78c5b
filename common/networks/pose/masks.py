"""Read the pose network's dropout masks from its weights: which values each of two layers kept.

In each observation a different joint is the only visible one, so each output's gradient comes from
one observation. Each unit of the second hidden layer feeds the x of one joint. The gradient of its
weights is that observation's first hidden layer after dropout. The weights of the joint's y are 0,
and their gradient is the second hidden layer after dropout. The first hidden layer equals its bias,
because rounding removes the small contribution of the images; but the gradient of its weights shows
the images. These get brighter to the right and to the bottom, so that no two pixels of a pool are
equal, and every flip or shift changes them. The learning rate is so small that a step does not
disturb the next one, and that almost no gradient comes back through the weights of y.
"""

import numpy as np

from common.proof import probes, tasks
from common.proof.masks import Masks, before_layer

SEEN = 14  # observations whose masks can be read: the first ones of a batch, one for each joint
RATES = (0.3, 0.4)  # different, so that swapped layers show, and neither is the recipe's
UNKNOWN = ()  # every mask can be read
FAINT = 2.0**-40  # every weight of the first dense layer
TARGET = (-1, -1 / 4.0, 1)  # for the visible joint


def batch(model, batch_size):
    """(weights, images, targets) of a training step that reveals the masks."""
    weights = probes.pass_through(model)
    weights["conv3.weight"] *= 2**1.5  # undoes two local response normalisations
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

    tied: not needed, because nothing before a pool is read. ValueError if nothing came through a
    layer.
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
    returned = np.empty_like(first)  # its gradient, times the learning rate
    came_back = np.empty(units)  # for each observation's own units
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
    """All joints: every output would show dropout."""
    return joints
