"""Rung accuracy: evaluate() counts correctly, and scores after 20 steps match the reference's.

A failure shows what evaluate() gave, or that predict() does not use the trained weights.
"""

from common.proof.check import Check
from common.proof.rungs import trajectory


def checks(subject):
    """Evaluate known scores, and predict with the recipe model."""
    oracle = subject.oracle
    scores, labels, right = subject.task.graded()
    measured = float(subject.module.evaluate(scores, labels))
    detail = "evaluate() gives %.4f where the %s is %.4f" % (
        measured,
        subject.model.task.figure,
        right,
    )
    yield Check("rows counted", abs(measured - right), 1e-6 * max(1, right), detail)
    model, _, _ = trajectory.run(subject)
    _, _, _, exact, allowed = oracle.trajectory(subject.conventions)
    scores = subject.scores(model, oracle.test_images)
    yield subject.scores_check("scores after 20 steps", exact, allowed, scores)
    # With the module's own weights, which excludes the rounding errors of 20 steps.
    weights = subject.module.weights(model)
    exact, allowed = oracle.scores(None, weights, oracle.test_images[:64])
    check = subject.scores_check("scores of the weights left", exact, allowed, scores[:64])
    check.detail = check.detail or "predict() does not use the weights that training left"
    yield check
