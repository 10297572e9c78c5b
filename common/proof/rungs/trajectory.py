"""Rung trajectory: the loss of each of 20 steps, with another model trained between two passes.

A failure names the first step that is off, or says that one model disturbs another.
"""

from collections import OrderedDict

import numpy as np

from common.proof import updates
from common.proof.check import TOO_EXACT, Check
from common.proof.oracle import MOMENTUM_STEPS, STEPS

DISGUISE = 64  # an error so many times smaller than the reference's in float32 means float64
EARLY = 5  # the unit is at least the largest of the first steps': one may be small by luck


def checks(subject):
    """Compare the losses of the recipe model, and check that another model was not disturbed."""
    exact, rounded, units, _, _ = subject.oracle.trajectory(subject.conventions)
    _, ours, of_two_models = run(subject)
    finite = [loss if np.isfinite(loss) else None for loss in ours]  # JSON knows no NaN
    subject.losses = OrderedDict(
        [("reference", list(exact)), ("reference_float32", list(rounded)), ("framework", finite)]
    )
    yield from of_two_models
    missing = abs(len(exact) - len(ours))
    yield Check("losses missing", missing, 0, "train() gave %d losses" % len(ours))
    for step, (e, o) in enumerate(zip(exact, ours), 1):
        # Rounding errors grow from step to step, so the unit never shrinks.
        tolerance = subject.oracle.multiple * max(units[: max(step, EARLY)])
        if step == 1:  # no update has happened yet, and rung forward compared the scores
            least = 2 * np.finfo(np.float32).eps * abs(e)
            tolerance = subject.oracle.multiple * max(units[0], least)
        what = "step %d" % step
        detail = "the loss of %s is %.7g, not %.7g" % (what, o, e)
        if step > STEPS // 2:
            detail += "; the second pass began at step %d" % (STEPS // 2 + 1)
        yield Check(what, abs(o - e), tolerance, detail)
    if subject.oracle.products == "float32":  # NumPy's other lanes are their own reference
        yield float64_in_disguise(exact, rounded, ours)


def float64_in_disguise(exact, rounded, ours):
    """The losses are not closer to float64's than float32 allows.

    The reference alone may stray, if its rounding flipped a ReLU. So the losses must also all be
    correctly rounded, which no float32 computation achieves.
    """
    largest = max(abs(o - e) for e, o in zip(exact, ours))
    strayed = max(abs(r - e) for e, r in zip(exact, rounded))
    rightly = all(abs(o - e) <= np.spacing(np.float32(abs(e))) for e, o in zip(exact, ours))
    detail = (
        "the losses are within %.1e of float64's, where float32 strays by %.1e: "
        "the computation was not in float32" % (largest, strayed)
    )
    wrong = rightly and strayed / DISGUISE > largest
    return Check("too exact for float32", wrong, 0, detail, TOO_EXACT)


def run(subject):
    """The recipe model's run; between its passes the momentum model is checked again."""
    if not subject.follows:
        return subject.recipe_run()
    subject.momentum_run()  # builds the other model first
    return subject.recipe_run(lambda: two_models(subject))


def two_models(subject):
    """A model that was not trained has not moved, and continues from where it was."""
    oracle = subject.oracle
    other, ours = subject.momentum_run()
    before, left = ([oracle.biased] + ours)[-2:]
    now = subject.module.weights(other)
    moved = [name for name in left if not np.array_equal(left[name], now[name])]
    detail = "training one model moved another: %s" % ", ".join(moved)
    yield Check("two models", len(moved), 0, detail)
    images = oracle.test_images[:64]
    exact, allowed = oracle.scores(None, now, images)
    scores = subject.scores(other, images)
    check = subject.scores_check("two models, scores", exact, allowed, scores)
    check.detail = check.detail or "predict() gives another model's scores"
    yield check
    if "momentum" in subject.model.traits:
        arguments = (oracle, oracle.momentum_hp, subject.conventions, subject.train, other)
        ((_, after, step),) = updates.follow(*arguments, before=before, after=left, steps=1)
    else:
        images, labels, step = oracle.momentum_steps(subject.conventions)[MOMENTUM_STEPS]
        ((_, after),) = subject.train(other, [(images, labels)])
    for check in subject.updates("two models, ", left, after, step):
        check.detail = "after another model was trained, " + check.detail
        yield check
