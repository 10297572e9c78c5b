"""The dropout rung's checks of observed masks: is each dropout layer fair?"""

from itertools import combinations

import numpy as np

from common.proof.check import Check
from common.proof.masks import DROPPED, layouts
from common.proof.reference import distance

SIGMAS = 5  # a fair dropout layer is outside once in 1.7 million observations
# Allowed relative errors, by the precision of products: masks are read from differences of these.
LEFT = {"float32": 1e-2, "bfloat16": 2.0**-4, "tf32": 2.0**-6}
SCALE = {"float32": 2e-3, "bfloat16": 2.0**-4, "tf32": 2.0**-6}
BACKWARD = {"float32": 1e-2, "bfloat16": 2.0**-4, "tf32": 2.0**-6}
# The total gradient that a 2x2 pool of four equal pixels returns for a gradient of 1, by ``ties``.
TIED = {"one": 1, "all": 4, "shared": 1}


def fractions(masks, products):
    """The fraction that each layer keeps, and the factor by which it scales that."""
    for number in masks[0].layers:
        rate = masks[0].rates[number]
        keep = 1 - rate
        values = np.concatenate([mask.layers[number].ravel() for mask in masks])
        values = values[~np.isnan(values)]
        kept = np.abs(values) > DROPPED
        what = "dropout %d: fraction kept" % number
        detail = "%s is %.3f, not %.3f" % (what, kept.mean(), keep)
        sigma = np.sqrt(keep * rate / kept.size)
        yield Check(what, abs(kept.mean() - keep), SIGMAS * sigma, detail)
        what = "dropout %d: what is dropped" % number
        left = np.abs(values[~kept]).max() if not kept.all() else 0
        yield Check(what, left, LEFT[products], "%s is multiplied by %.3f" % (what, left))
        what = "dropout %d: scale" % number
        scales = values[kept] if kept.any() else np.array([np.inf])
        scale = scales[np.argmax(np.abs(scales - 1 / keep))]
        detail = "%s is %.4f for some, not %.4f, or images are changed in training" % (
            what,
            scale,
            1 / keep,
        )
        yield Check(what, abs(scale - 1 / keep), SCALE[products] / keep, detail)


def shared(masks):
    """No two observations, channels, rows or columns of a layer share a mask."""
    for number, mask in sorted(masks.layers.items()):
        rate = masks.rates[number]
        known = ~np.isnan(mask)
        chance = np.where(known, (np.abs(mask) > DROPPED) - (1 - rate), 0)
        for axis in range(mask.ndim):
            slices, visible = (
                np.moveaxis(array, axis, 0).reshape(mask.shape[axis], -1)
                for array in (chance, known.astype(float))
            )
            pairs = np.triu(visible.dot(visible.T), 1)  # values that are seen in both slices
            if pairs.max() < 100:
                continue
            alike = slices.dot(slices.T) / (rate * (1 - rate)) / np.sqrt(np.maximum(pairs, 1))
            what = "dropout %d: shared along axis %d" % (number, axis)
            detail = "dropout %d uses one mask for several values" % number
            worst = float(np.abs(alike[pairs >= 100]).max())
            yield Check(what, worst, SIGMAS + 2, detail)  # of thousands of pairs


def repeated(masks):
    """No two units of a dense layer have the same mask in all steps."""
    for number, mask in sorted(masks[0].layers.items()):
        if mask.ndim == 2:
            kept = np.concatenate([np.abs(step.layers[number]) > DROPPED for step in masks])
            kept = np.unique(kept, axis=0)  # another check finds equal masks in several steps
            rows, units = kept.shape
            error = units - len(np.unique(kept, axis=1).T)
            rate = masks[0].rates[number]
            chance = units * (units - 1) / 2 * (rate**2 + (1 - rate) ** 2) ** rows
            detail = "dropout %d has the same mask for several units" % number
            tolerance = chance + SIGMAS * np.sqrt(chance) + 2
            yield Check("dropout %d: repeated units" % number, error, tolerance, detail)


def alike(what, first, second):
    """Two masks of a layer agree no more often than by chance."""
    for number, rate in sorted(first.rates.items()):
        both = np.array([mask.layers[number].ravel() for mask in (first, second)])
        a, b = np.abs(both[:, ~np.isnan(both).any(0)]) > DROPPED
        if not a.size:  # they show other places
            continue
        chance = (1 - rate) ** 2 + rate**2
        tolerance = SIGMAS * np.sqrt(chance * (1 - chance) / a.size)
        name = "dropout %d: alike %s" % (number, what)
        detail = "dropout %d has the same mask %s, or part of it" % (number, what)
        yield Check(name, abs((a == b).mean() - chance), tolerance, detail)


def correlated(masks):
    """No layer uses another's random numbers, compared in the order in which they are drawn."""
    for first, second in combinations(sorted(masks.layers), 2):
        a, b = layouts(masks.layers[first]), layouts(masks.layers[second])
        for layout in a:
            n = min(len(a[layout]), len(b[layout]))
            both = np.array([a[layout][:n], b[layout][:n]])
            both = (np.abs(both) > DROPPED)[:, ~np.isnan(both).any(0)].astype(float)
            if both.shape[1] < 100 or not both.std(1).all():
                continue  # in this order, too few positions are seen in both
            error = abs(np.corrcoef(both)[0, 1])
            what = "dropout %d and %d: correlated" % (first, second)
            detail = "layers %d and %d draw the same random numbers" % (first, second)
            yield Check(what, error, SIGMAS / np.sqrt(both.shape[1]), detail)


def backward(masks, products):
    """The backward pass drops the same values as the forward pass."""
    for layer, (measured, expected) in sorted(masks.backward.items()):
        error = distance(measured, expected) / max(distance(expected, 0), 1e-300)
        detail = "the gradient does not come back through dropout %d's own mask" % layer
        yield Check("dropout %d: backward" % layer, error, BACKWARD[products], detail)
