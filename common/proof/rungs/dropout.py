"""Rung dropout: in training each layer drops and scales correctly; in prediction none drops.

A step's masks are read from the updates of the weights. The whole gradient of that step must be the
reference's under the same masks, except for tensors whose gradients depend on
masks that cannot be read (``masks.UNKNOWN``). A failure names the layer and its fault.
"""

from itertools import combinations

import numpy as np

from common.networks.model import CLASSES
from common.proof import dropout, masks
from common.proof.check import PREDICTION, Check
from common.proof.oracle import PROBE_BATCH, SEED
from common.proof.reference import distance, unit
from common.proof.tasks import Task

MOMENTUM = 0.5  # of the model that has dropout, too
LATER = (2, 5, 1)  # steps of the passes in which masks are read again
LARGEST_BATCH = 256  # of any module
ROWS = np.r_[:16, LARGEST_BATCH : Task.predicted]  # the rows of a prediction that are compared


def checks(subject):
    """Read the masks of three steps of the probe model, and check them."""
    _, pairs, model = subject.probe_run()
    tied = dropout.TIED[subject.conventions.ties]
    try:
        seen = [subject.masks.observe(*pair, tied=tied) for pair in pairs]
    except ValueError as error:
        yield Check("values kept", np.inf, 0, str(error))
        return
    first, second, third = seen
    products = subject.oracle.products
    yield from dropout.fractions(seen, products)
    yield from dropout.shared(first)
    yield from dropout.repeated(seen)
    yield from dropout.alike("between two steps", first, second)
    yield from dropout.alike("between two passes", first, third)
    yield from dropout.alike("between two passes, later", second, third)
    yield from dropout.correlated(first)
    yield from gradient(subject, first, *pairs[0])
    yield from dropout.backward(first, products)
    yield prediction(subject, model)
    yield from seeds(subject, seen, tied)
    if subject.follows and subject.model.task.name == CLASSES.name:
        yield from velocity(subject)
    if subject.follows:
        yield from later(subject, tied)


def velocity(subject):
    """With dropout on, a step without a gradient moves weights by what momentum leaves.

    Only weights that are 0 at first are compared, because they keep every digit of their update.
    """
    hp = subject.probe_hp()._replace(momentum=MOMENTUM)
    start = subject.probe_weights()
    none = subject.task.counted(PROBE_BATCH, 0)  # no observation has a loss
    model = subject.build(hp, start)
    steps = [after for _, after in subject.train(model, [subject.probe_batch(), none])]
    yield Check("momentum, steps missing", 2 - len(steps), 0, "train() gave too few losses")
    for name in reversed(list(start)) if len(steps) == 2 else ():
        first, second = (np.float64(weights[name]) for weights in steps)
        moved = first[start[name] == 0]
        size = np.vdot(moved, moved)
        if size:
            share = np.vdot(moved, (second - first)[start[name] == 0]) / size
            detail = "with dropout on, a step without a gradient moves %s %.3g times as far as the "
            detail += "one before, where momentum is %.3g: look for a velocity that is lost"
            detail %= name, share, MOMENTUM
            yield Check("momentum, " + name, abs(share - MOMENTUM), 1e-3, detail)


def later(subject, tied):
    """Masks of later steps and passes, at the recipe's batch size, in other rows and other places.

    What is drawn in small groups of rows, stops to be drawn after some steps, or begins again in
    each pass, shows here. Masks are compared with all others that show the same places.
    """
    read, size, seen = subject.masks, subject.model.hp.batch_size, subject.masks.SEEN
    rows = np.arange(seen)
    if size >= 4 * seen:
        far = [size // 4, size // 4 + 1, size // 2, 3 * size // 4, size - 1]
        rows = np.r_[: seen - len(far), far]
    order = np.r_[rows, np.setdiff1d(np.arange(size), rows)].argsort()
    shifts = getattr(read, "SHIFTS", [{}])
    hp = subject.probe_hp()._replace(batch_size=size)
    model = subject.build(hp, read.batch(subject.model, size)[0])
    before, found = subject.module.weights(model), []
    for count in LATER:
        batches = []
        for number in range(count):
            shift = shifts[number % len(shifts)]
            pair = read.batch(subject.model, size, **shift)[1:]
            batches.append((shift, tuple(part[order] for part in pair)))
        for (shift, _), (_, after) in zip(batches, subject.train(model, [b for _, b in batches])):
            try:
                found.append(read.observe(before, after, tied=tied, **shift))
            except ValueError as error:
                yield Check("values kept, later", np.inf, 0, str(error))
                return
            before = after
    yield Check("later steps missing", sum(LATER) - len(found), 0, "train() gave too few losses")
    yield from dropout.fractions(found, subject.oracle.products)
    for mask in found[: len(shifts)]:
        yield from dropout.shared(mask)
    for one, other in combinations(found, 2):
        yield from dropout.alike("between two later steps", one, other)


def gradient(subject, mask, before, after):
    """The whole gradient of a step with dropout is the reference's under the same masks.

    If some weights of a tensor are 0, only these are compared, because they keep every digit of
    their small update. Float32 may sum these few distinct values exactly by luck, so all such
    tensors share the largest relative error as their unit.
    """
    hp, batch = subject.probe_hp(), subject.probe_batch()
    step = subject.oracle.masked_step(subject.conventions, hp, before, batch, mask.layers)
    names = [name for name in before if name not in subject.masks.UNKNOWN]
    zeros = {name: before[name] == 0 for name in names}
    sizes = {
        name: distance(step.exact[name][zeros[name]], 0) for name in names if zeros[name].any()
    }
    share = max(
        unit(step.exact[name][zeros[name]], step.rounded[name][zeros[name]]) / size
        for name, size in sizes.items()
        if size
    )
    for name in reversed(names):
        part = zeros[name] if name in sizes else slice(None)
        allowed = share * sizes[name] if name in sizes else step.units[name]
        what = "with dropout on, " + name
        detail = "%s: not the gradient under these masks; is an image changed in training?" % what
        error = distance(step.exact[name][part], after[name][part])
        yield Check(what, error, subject.oracle.multiple * allowed, detail)


def prediction(subject, model):
    """The probe model predicts like the network without dropout.

    It predicts more images than a batch of any module has. The first and the last ones, a partial
    batch, are compared.
    """
    images, telling = subject.oracle.test_images, subject.masks.telling
    weights = subject.module.weights(model)
    exact, rounded = (
        telling(reference.scores(subject.oracle.recipe_hp, weights, images[ROWS]))
        for reference in subject.oracle.references()
    )
    error = distance(exact, telling(subject.scores(model, images)[ROWS]))
    detail = "prediction differs from the network without dropout"
    tolerance = subject.oracle.multiple * unit(exact, rounded)
    return Check("scores in prediction", error, tolerance, detail, PREDICTION)


def seeds(subject, seen, tied):
    """The same seed gives the same masks, and another seed gives others than any of those seen."""
    batch = subject.probe_batch()
    observed = {}
    try:
        for seed in (SEED, SEED + 1):
            model, weights = subject.probe(seed)
            subject.interlude(model, batch[0][:1])
            ((_, after),) = subject.train(model, [batch])
            observed[seed] = subject.masks.observe(weights, after, tied)
    finally:
        subject.module.configure(subject.lane, subject.oracle.threads, SEED)
    again, other = observed[SEED], observed[SEED + 1]
    differ = sum(
        np.count_nonzero((np.abs(a) > masks.DROPPED) != (np.abs(b) > masks.DROPPED))
        for a, b in zip(seen[0].layers.values(), again.layers.values())
    )
    yield Check("same seed", differ, 0, "the same seed gives other masks")
    for mask in seen:
        yield from dropout.alike("with another seed", mask, other)
