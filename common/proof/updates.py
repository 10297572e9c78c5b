"""Do a module's updates follow from the last one and from the reference's own gradient?

With momentum m and learning rate l, and weights w, w', w'' of three moments, classical momentum is
w'' - w' = m (w' - w) - l g(w'). Whatever went before, three sets of weights show whether it holds.
"""

from collections import OrderedDict

import numpy as np

from common.proof.oracle import Oracle
from common.proof.reference import conventions_of, distance, products

FEW = 4  # values of a tensor whose unit may be small by luck
CLEAR = 8  # images that a batch is made of: each is searched for, and repeated


def follow(oracle, hp, conventions, train, model, before, after, steps):
    """Train ``steps`` more; yield (weights before, after, the reference's ``Step``) of each.

    before, after: the weights before and after the step that was the last one. ``train(model,
    pairs)`` yields (loss, weights).
    """
    for _ in range(steps):
        few = min(CLEAR, hp.batch_size)
        images, labels = oracle.clear(None, few, hp, after)
        step = oracle.next_step(hp, before, after, images, labels, conventions)
        # The mean over the batch is the same if all are repeated equally often.
        times = -(-hp.batch_size // few)
        pair = [np.concatenate([part] * times)[: hp.batch_size] for part in (images, labels)]
        before = after
        ((_, after),) = train(model, [pair])
        yield before, after, step


def compared(start, ours, step, multiple):
    """(name, error, tolerance, factor of the update) of each tensor, in backward order.

    multiple: of the unit, that is allowed. A tensor of few values may be exact in float32 by luck,
    where its gradient is a sum that cancels; its unit is at least the usual share of an update.
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
    """Whether a run without dropout still obeyed the law at its end: a dict of JSON values.

    Trains the model on for a few steps. ``steps``: how many the run has had.
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
                worst = max(worst, error / tolerance)
    except ValueError as error:  # no image stands clear: not proven, and the run is not lost
        wrong = str(error)
    return OrderedDict(
        [
            ("steps", steps),
            ("passed", not wrong),
            ("share_of_tolerance", worst),
            ("detail", wrong),
        ]
    )
