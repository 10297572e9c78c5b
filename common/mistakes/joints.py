"""Mistakes with the joints of figures."""

import numpy as np

from common.mistakes.mistake import mistake
from common.system.modules import replaced


@mistake("data", "joints")
def x_and_y_exchanged(module):
    """Row and column are mistaken for x and y."""

    def load(images, targets, settings):
        return module.load(images, targets[..., [1, 0, 2]].copy(), settings)

    return replaced(module, load=load)


def shown(targets):
    """``targets`` with every joint visible."""
    targets = targets.copy()
    targets[..., 2] = 1
    return targets


@mistake("data", "joints")
def hidden_joints_shown(module):
    """The loss counts every joint, visible or not."""

    def load(images, targets, settings):
        return module.load(images, shown(targets), settings)

    return replaced(module, load=load)


@mistake("accuracy", "joints")
def hidden_joints_measured(module):
    """Evaluation counts every joint, visible or not."""

    def evaluate(joints, targets):
        return module.evaluate(joints, shown(targets))

    return replaced(module, evaluate=evaluate)


@mistake("accuracy", "joints")
def root_of_the_mean_square(module):
    """The root mean square distance, instead of the mean distance."""

    def evaluate(joints, targets):
        squares = ((joints - targets[..., :2]) ** 2).sum(-1)
        return float(np.sqrt(squares[targets[..., 2] > 0].mean()))

    return replaced(module, evaluate=evaluate)
