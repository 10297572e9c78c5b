"""Read dropout masks from the weights before and after a training step.

Each network with dropout has a ``masks.py`` beside its description, which defines

SEEN: the number of observations whose masks can be read, the first ones of a batch.
RATES: the fractions to drop. All differ, so that swapped layers show, and none is the recipe's.
batch(model, batch_size): (weights, observations, targets) of a step that reveals the masks.
observe(before, after, tied): the ``Masks`` of such a step.
UNKNOWN: the tensors whose gradient depends on masks that cannot be read.
telling(outputs): the part of a prediction in which dropout would show.
"""

from collections import namedtuple

import numpy as np

DROPPED = 0.25  # dropped values are multiplied by less than this, kept ones by 1 or more


Masks = namedtuple("Masks", "layers rates backward")
Masks.__doc__ = """The factors that dropout layers applied in one training step.

layers: {number: mask}, in the best order for reading; NaN where a mask cannot be read.
rates: {number: the fraction that is dropped}.
backward: {number: (measured, expected)}: the gradient that came back through the layer.
"""


def before_layer(layer, fed, before, step):
    """(a dense layer's input, the gradient it returned) for the observation that ``fed`` belong to.

    fed: the units whose output reaches that observation's score alone. ValueError if dropout kept
    none of them.
    """
    moved = np.abs(step[layer + ".bias"][fed])
    kept = fed[moved > moved.max() / 2]
    if not len(kept):
        raise ValueError("no hidden unit of observation %d was kept" % fed[0])
    into = step[layer + ".bias"][kept]
    layer_input = (step[layer + ".weight"][kept] / into[:, None]).mean(0)
    return layer_input, into.dot(before[layer + ".weight"][kept])


def layouts(mask):
    """{layout: a mask's values, in the order in which that layout draws random numbers}."""
    if mask.ndim == 2:
        return {"NCHW": mask.ravel(), "NHWC": mask.ravel()}
    return {"NCHW": mask.ravel(), "NHWC": mask.transpose(0, 2, 3, 1).ravel()}
