"""Dropout seen through the weights: which values each of the pose network's two layers kept.

In each observation another joint alone is visible, so each output has its gradient from one
observation. A unit of the second hidden layer feeds the x of one joint. What its weights receive
is that observation's first hidden layer after dropout; what the weights of the joint's y receive,
which are 0, is the second one. Images and features are 1, so that a dropout layer among the
convolutions would show. The learning rate is so small that a step does not disturb the next one,
and the weights of y stay so near 0 that next to nothing comes back from there.
"""

import numpy as np

from common.proof import probes, tasks
from common.proof.masks import Masks, before_layer

SEEN = 14  # observations whose masks are seen: the first ones of a batch, one for each joint
RATES = (0.3, 0.4)  # not alike, so that exchanged layers show, and neither the recipe's
TARGET = (-1, -1 / 4.0, 1)  # of the one visible joint


def batch(model, batch_size):
    """(weights, images, targets) of a training step that shows the masks."""
    weights = probes.pass_through(model)
    weights["conv3.weight"] *= 2**1.5  # what two local response normalisations have divided by
    for layer, size in (("dense1", 1), ("dense2", 1 / 16.0)):
        w = weights[layer + ".weight"]
        w[:] = size * 2.0 ** -np.ceil(np.log2(w.shape[1]))
    weights["dense3.weight"][:] = 0
    for hidden in range(len(weights["dense2.bias"])):
        weights["dense3.weight"][2 * (hidden % SEEN), hidden] = 1 / 16.0
    targets = tasks.of(model).none(batch_size)
    for n in range(SEEN):
        targets[n, n] = TARGET
    return weights, np.ones((batch_size,) + model.observation, np.float32), targets


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
    first /= before["dense1.weight"].sum(1) + before["dense1.bias"]  # of features that are 1
    own = np.arange(units)
    backward = {
        1: (step["dense1.bias"], (returned * first).sum(0)),
        2: (came_back, second[own % SEEN, own]),
    }
    return Masks({1: first, 2: second}, dict(enumerate(RATES, 1)), backward)


def telling(joints):
    """All of them."""
    return joints
