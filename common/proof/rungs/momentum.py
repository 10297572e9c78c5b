"""Rung momentum: the optimiser's state, over three steps and over a long run.

A failure names the step, the tensor and the factor of its update. A factor of 1 + momentum means
Nesterov momentum, one of 1 - momentum a gradient that is scaled by it.
"""

from itertools import islice

from common.proof.check import Check
from common.proof.oracle import LONG_STEPS

HINT = " (Nesterov momentum makes it 1 + momentum, a gradient scaled for unit gain 1 - momentum)"


def checks(subject):
    """Every weight after each of three steps, and every few steps of a long run."""
    _, ours = subject.momentum_run()
    yield Check("steps missing", abs(3 - len(ours)), 0, "train() gave %d losses" % len(ours))
    start = subject.oracle.biased
    steps = subject.oracle.momentum_steps(subject.conventions)
    for number, (weights, (_, _, step)) in enumerate(zip(ours, steps), 1):
        for check in subject.updates("step %d, " % number, start, weights, step):
            if number == 1 and not check.passed and "momentum" in subject.model.traits:
                check.hint = HINT
            yield check
        start = step.exact
    if subject.follows:
        yield from long_run(subject)


def long_run(subject):
    """In each of many steps the optimiser's state moves weights; they are compared often.

    This shows averages, restarts and schedules that act late. The first half of the steps is one
    pass. Each later step is a pass of its own, which shows what depends on the number of passes.
    """
    oracle, half, done = subject.oracle, LONG_STEPS // 2, 0
    model, start = subject.build(oracle.long_hp, oracle.long_weights), oracle.long_weights
    steps = oracle.long_run(subject.conventions)
    moved = [name for name in subject.model.shapes if name not in subject.model.state]
    for size in [half] + [1] * (LONG_STEPS - half):
        part = list(islice(steps, size))
        loaded = [subject.load(images, labels) for images, labels, _ in part]
        for number, _ in enumerate(subject.module.train(model, loaded)):
            done += 1
            step = part[number][2] if number < len(part) else None
            if step is not None:
                after = subject.module.weights(model)
                ours = {name: after[name] for name in moved}
                yield from subject.updates("step %d of a long run, " % done, start, ours, step)
                start = step.exact
    detail = "train() gave %d losses for %d batches" % (done, LONG_STEPS)
    yield Check("losses missing", abs(LONG_STEPS - done), 0, detail)
