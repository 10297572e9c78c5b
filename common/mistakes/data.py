"""Mistakes in the data: their axes, their order, their labels."""

import numpy as np

from common.mistakes.mistake import mistake
from common.system.modules import replaced


@mistake("data", "classes of images", "joints")
def height_and_width_swapped(module):
    """Axes 1 and 3 are swapped on the way to channels-last."""

    def load(images, labels, settings):
        return module.load(np.ascontiguousarray(images.swapaxes(2, 3)), labels, settings)

    return replaced(module, load=load)


@mistake("data", "classes of images")
def labels_off_by_one(module):
    """Class numbers begin at 1."""

    def load(images, labels, settings):
        return module.load(images, (labels + 1) % 10, settings)

    return replaced(module, load=load)


@mistake("data")
def own_batch_order(module):
    """The framework's own loader shuffles again."""

    def train(model, batches):
        batches = list(batches)
        order = np.random.RandomState(1).permutation(len(batches))
        return module.train(model, [batches[i] for i in order])

    return replaced(module, train=train)
