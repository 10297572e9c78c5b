"""Dropout masks, read from the weights before and after a training step.

Each network with dropout has a ``masks.py`` of its own beside its description, which has

SEEN: the number of observations whose masks are seen, the first ones of a batch.
RATES: the fractions to drop; no two alike, so that exchanged layers show, and none the recipe's.
batch(model, batch_size): (weights, observations, targets) of a step that shows the masks.
observe(before, after, tied): the ``Masks`` of such a step.
UNKNOWN: the tensors whose gradient depends on masks that are not seen.
telling(outputs): the part of a prediction that shows a difference.
"""

from collections import namedtuple

import numpy as np

DROPPED = 0.25  # what was dropped is multiplied by less than that, the rest by 1 or more


Masks = namedtuple("Masks", "layers rates backward")
Masks.__doc__ = """What dropout layers multiplied by in one training step.

layers: {number: mask}, in the order in which they are best read; NaN where a mask is not seen.
rates: {number: the fraction that is dropped}.
backward: {number: (measured, expected)} of the gradient that came back through the layer.
"""


def before_layer(layer, fed, before, step):
    """(a dense layer's input, what came back to it) in the observation whose units ``fed`` are.

    ValueError where none of these units was kept.
    """
    moved = np.abs(step[layer + ".bias"][fed])
    kept = fed[moved > moved.max() / 2]
    if not len(kept):
        raise ValueError("no hidden unit of observation %d was kept" % fed[0])
    into = step[layer + ".bias"][kept]
    layer_input = (step[layer + ".weight"][kept] / into[:, None]).mean(0)
    return layer_input, into.dot(before[layer + ".weight"][kept])


def layouts(mask):
    """A mask's values in the order in which random numbers may have been drawn for it."""
    if mask.ndim == 2:
        return {"NCHW": mask.ravel(), "NHWC": mask.ravel()}
    return {"NCHW": mask.ravel(), "NHWC": mask.transpose(0, 2, 3, 1).ravel()}
