"""Rung gradient: all weights after plain steps, one without gradient, and one on bright images.

Without momentum and with learning rate 1, the change of a weight is its gradient. With batch
normalisation, the split model adds a step. A failure names the tensor and the factor of its update,
or the convention that the settings name wrongly.
"""

import numpy as np

from common.data import batches
from common.networks.model import CLASSES
from common.proof import mixed, updates
from common.proof.check import Check
from common.proof.oracle import PROBE_BATCH, SEED
from common.proof.reference import CHOICES, applicable


def checks(subject):
    """Compare the steps of the gradient, bright and split models with the reference's."""
    oracle, conventions = subject.oracle, subject.conventions
    steps = run(subject)
    missing = (4 if "batchnorm" in subject.model.traits else 3) - len(steps)
    yield Check("steps missing", abs(missing), 0, "train() gave %d losses" % len(steps))
    if missing > 0:
        return
    plain, zero, bright, *split = steps
    yield from without_gradient(subject, zero)
    yield arrays_left_alone(subject)
    yield from conventions_named(subject, plain)
    yield from subject.updates("", oracle.biased, plain, oracle.plain_step(conventions)[2])
    fixed = oracle.fixed_output
    yield from subject.updates("bright, ", fixed, bright, oracle.bright_step(conventions)[2])
    for after in split:
        step = oracle.split_relus_step(conventions)[2]
        yield from subject.updates("split ReLUs, ", oracle.split_relus, after, step)
    if subject.follows:
        yield from whole_batch(subject)
    if subject.model.task.name == CLASSES.name:
        yield from unlikely_labels(subject)
    if oracle.products == "bfloat16":
        batch = oracle.plain_step(conventions)[:2]
        yield from mixed.gradient(oracle, subject.build, subject.train, batch)


def run(subject):
    """The weights of the gradient, bright and split models after each step to compare."""
    oracle, conventions = subject.oracle, subject.conventions
    model, _ = subject.gradient_model()
    steps = list(subject.train(model, [oracle.plain_step(conventions)[:2]]))
    model = subject.build(oracle.bright_hp, oracle.fixed_output)
    batch = oracle.zero_gradient_batch()
    steps += subject.train(model, [batch])
    more = [subject.load(*batch)] * (oracle.zero_gradient_steps - 1)
    half = len(more) // 2
    for part in [more[:half]] + [[loaded] for loaded in more[half:]]:  # in one pass, in many
        for _ in subject.module.train(model, part):
            pass
    steps += subject.train(model, [oracle.bright_step(conventions)[:2]])
    if "batchnorm" in subject.model.traits:
        model = subject.build(oracle.gradient_hp, oracle.split_relus)
        steps += subject.train(model, [oracle.split_relus_step(conventions)[:2]])
    return [weights for _, weights in steps]


def whole_batch(subject):
    """The plain step with the recipe's batch size, on a batch taken as a run takes it.

    A run loads all observations at once, and takes the rows of each batch by their numbers.
    """
    oracle = subject.oracle
    images, labels, step = oracle.whole_step(subject.conventions)
    loaded = subject.load(images, labels)
    model = subject.build(oracle.whole_hp, oracle.biased)
    pairs = batches.batches(*loaded, oracle.whole_hp.batch_size, SEED, 0)
    losses = sum(1 for _ in subject.module.train(model, pairs))
    yield Check("whole batch, steps missing", abs(1 - losses), 0, "train() gave %d losses" % losses)
    after = subject.module.weights(model)
    yield from subject.updates("whole batch, ", oracle.biased, after, step)


def without_gradient(subject, after):
    """A step whose gradient is 0 moves no weight."""
    before, state = subject.oracle.fixed_output, subject.model.state
    for name in reversed([name for name in subject.model.shapes if name not in state]):
        moved = np.float64(after[name]) - before[name]
        share = float(np.vdot(moved, before[name]) / np.vdot(before[name], before[name]))
        detail = (
            "%s moved in a step whose gradient is 0, by %.3g of its own size: "
            "look at weight decay, or a softened label" % (name, share)
        )
        yield Check("no gradient, " + name, np.count_nonzero(moved), 0, detail)


def arrays_left_alone(subject):
    """Training does not write into the arrays passed to loss()."""
    _, weights = subject.gradient_model()
    changed = [n for n, w in subject.oracle.biased.items() if not np.array_equal(w, weights[n])]
    detail = "training writes into the arrays that loss() was given: %s" % ", ".join(changed)
    return Check("given arrays changed", len(changed), 0, detail)


def conventions_named(subject, ours):
    """The settings name the conventions that the module follows."""
    oracle = subject.oracle

    def fits(conventions):
        _, _, step = oracle.plain_step(conventions)
        tensors = updates.compared(oracle.biased, ours, step, oracle.multiple)
        return all(error <= allowed for _, error, allowed, _ in tensors)

    as_named = fits(subject.conventions)
    for key in applicable(subject.model):
        if key in ("adam_scalars", "variance"):
            continue  # this step's numbers are too simple to show a difference
        named = getattr(subject.conventions, key)
        others = [choice for choice in getattr(CHOICES, key) if choice != named]
        right = []
        if not as_named:
            right = [o for o in others if fits(subject.conventions._replace(**{key: o}))]
        detail = "settings say %s: %s; it is: %s" % (key, named, " or ".join(right))
        yield Check(key, bool(right), 0, detail)


def unlikely_labels(subject):
    """A label whose probability is almost 0 still has its loss and its gradient."""
    losses, pairs, _ = subject.probe_run()
    before, after = pairs[0]
    last = list(subject.model.shapes)[-1]
    batch = subject.probe_batch()
    right = subject.oracle.fixed_output_update(
        subject.conventions, subject.probe_hp(), before, batch
    )
    shares = (np.float64(after[last]) - before[last])[1:] / right[1:]
    expected = subject.task.FIXED_OUTPUT * subject.seen / PROBE_BATCH
    error = abs(losses[0] / expected - 1)
    detail = "labels whose probability is almost 0 have a loss of %.4g, not about %.4g: "
    detail = detail % (losses[0], expected) + "look for a probability that is clipped"
    yield Check("unlikely labels, loss", error, 0.1, detail)
    detail = "labels whose probability is almost 0 give %.3g times their gradient" % shares.min()
    yield Check("unlikely labels, gradient", np.abs(shares - 1).max(), 0.1, detail)
