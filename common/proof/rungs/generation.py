"""Rung generation: tokens that are generated with a cache have the scores of a whole pass.

Each generated token is the likeliest after those before it, by the module's own scores. The text
that this gives is read by the reference in one pass without a cache. A failure names the place
where the scores part.
"""

import numpy as np

from common.proof.check import Check
from common.proof.reference import distance

AGAIN = 5  # texts of further predictions, which find what an earlier one left in the cache


def checks(subject):
    """Generate from the texts of a prediction, then twice from a few others, by the same model."""
    oracle = subject.oracle
    model = subject.build(oracle.gradient_hp, oracle.biased)
    asked = [("generated", oracle.test_images), ("generated again", oracle.images[:AGAIN])]
    if subject.follows:  # a cache may be kept as long as the number of texts is the same
        asked.append(("generated for as many", oracle.images[AGAIN : 2 * AGAIN]))
    for what, texts in asked:
        yield from generated(subject, what, model, texts, oracle.biased)


def generated(subject, what, model, texts, weights):
    """The scores of the generated places, and where they are off first, by the model's weights."""
    oracle, task = subject.oracle, subject.task
    outputs = subject.predict(model, texts)
    shape = (len(texts),) + task.returned
    if outputs.shape != shape:
        yield Check(what, np.inf, 0, "predict() gave %s, not %s" % (outputs.shape, shape))
        return
    exact, allowed = oracle.scores(None, weights, task.continued(texts, outputs))
    tolerance = oracle.multiple * allowed
    given = distance(exact[:, : task.half], outputs[:, : task.half])
    detail = "the scores of the given tokens are not those of a pass without a cache"
    yield Check(what + ", given tokens", given, tolerance, detail)
    exact, ours = exact[:, task.half :], outputs[:, task.steps :]
    by_place = [distance(exact[:, place], ours[:, place]) for place in range(task.half)]
    off = [place for place, error in enumerate(by_place) if not error <= 4 * tolerance]
    detail = "the scores of generated tokens are not those of a pass without a cache"
    if off:
        detail += ", from token %d on" % (off[0] + 1)
    yield Check(what, distance(exact, ours), tolerance, detail)
