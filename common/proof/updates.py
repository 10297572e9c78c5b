"""Check a module's updates against the reference's gradient, at any time in a run.

With momentum m, learning rate l and three successive sets of weights w, w', w'', classical momentum
is w'' - w' = m (w' - w) - l g(w'). So three sets show whether it holds, whatever happened before.
"""

from collections import OrderedDict

import numpy as np

from common.proof.kinks import NearKink
from common.proof.oracle import Oracle
from common.proof.reference import conventions_of, distance, products

FEW = 4  # the unit of a tensor with fewer values may be small by luck
LARGEST = float(np.finfo(np.float32).max)  # share of the tolerance; JSON has no infinity
CLEAR = 8  # different images in a batch: each must be searched, so they are repeated


def follow(oracle, hp, conventions, train, model, before, after, steps):
    """Train ``steps`` more; yield (weights before, after, the reference's ``Step``) for each.

    before, after: the weights before and after the most recent step. ``train(model, pairs)`` yields
    (loss, weights).
    """
    for _ in range(steps):
        few = min(CLEAR, hp.batch_size)
        images, labels = oracle.clear(None, few, hp, after)
        step = oracle.next_step(hp, before, after, images, labels, conventions)
        # Repeating all images equally often leaves the batch's mean as it is.
        times = -(-hp.batch_size // few)
        pair = [np.concatenate([part] * times)[: hp.batch_size] for part in (images, labels)]
        before = after
        ((_, after),) = train(model, [pair])
        yield before, after, step


def compared(start, ours, step, multiple):
    """(name, error, tolerance, factor of the update) of each tensor, in backward order.

    multiple: the tolerance in units. If a tensor has few values and its gradient is a sum that
    cancels, float32 may be exact by luck; so its unit is at least the usual share of an update.
    """
    moved = {name: (np.float64(ours[name]) - start[name]).ravel() for name in ours}
    right = {name: (step.exact[name] - start[name]).ravel() for name in ours}
    sizes = {name: np.sqrt(np.mean(np.square(update))) for name, update in right.items()}
    share = np.median([step.units[name] / max(size, 1e-300) for name, size in sizes.items()])
    for name in reversed(list(ours)):
        factor = float(np.dot(right[name], moved[name]) / max(sizes[name] ** 2, 1e-300))
        factor /= len(right[name])
        error, unit = distance(step.exact[name], ours[name]), step.units[name]
        if len(right[name]) < FEW:
            unit = max(unit, float(share * sizes[name]))
        yield name, error, multiple * unit, factor


def after_run(description, module, settings, hp, model, steps):
    """Whether updates are still right at the end of a run without dropout: a dict of JSON values.

    Trains the model for a few more steps. steps: how many the run has had.
    """
    oracle = Oracle(description, settings["threads"], {}, products(settings))

    def train(model, pairs):
        loaded = [module.load(images, labels, settings) for images, labels in pairs]
        for loss in module.train(model, loaded):
            yield float(loss), module.weights(model)

    before = module.weights(model)
    ((_, after),) = train(model, [oracle.pairs[0]])
    worst, wrong = 0.0, ""
    try:
        for start, ours, step in follow(
            oracle, hp, conventions_of(settings), train, model, before, after, 3
        ):
            for name, error, tolerance, factor in compared(start, ours, step, oracle.multiple):
                if not error <= tolerance and not wrong:
                    wrong = "%s: its update is %.4g times the reference's" % (name, factor)
                worst = min(LARGEST, max(error / tolerance, worst))  # NaN becomes the largest
    except NearKink as error:  # not proven, but the run is not lost
        wrong = str(error)
        if not all(np.isfinite(w).all() for w in module.weights(model).values()):
            worst = LARGEST
    return OrderedDict(
        [
            ("steps", steps),
            ("passed", not wrong),
            ("share_of_tolerance", worst),
            ("detail", wrong),
        ]
    )
