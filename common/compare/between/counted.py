"""Which tokens count in a loss, and how much: from the gradient of the head's weight.

That gradient is the scores' gradient times the head's input. With fewer tokens than features, it
shows the scores' gradient. For each token, this is its weight in the loss times the probabilities,
except at the token's label. An embedding that shares the weight adds to some rows.
"""

import itertools

import numpy as np

from common.compare.between import losses
from common.compare.between.both import Explanation
from common.compare.functions import softmax
from common.compare.layers import docs as pages
from common.compare.layers.layer import full
from common.compare.optimizers import steps

NEAR = 4  # arrays that are tried as the head's input
FEWER = 0.9  # tokens for each feature, at most; with more, any gradient would fit
LEAST = 8  # columns of the scores whose gradient is known
EXACT = 1e-3  # of a weight of a token
LEFT = 1e-4  # of a row of the gradient: what may be left if no embedding adds to it
MOST = 0.75  # the share of such columns that must show a token's weight
ZERO = 1e-3  # of the largest weight


def explain(both):
    """An ``Explanation`` if both sides' weights of tokens are known and differ."""
    if steps.kind(both.a.output.name)[0] == "plain" and both.a.output.size > 1:
        return None
    inputs = [x for x in both.inputs if steps.kind(x.name)[0] == "plain" and len(x.shape) > 1]
    for x in [x for x in inputs[:NEAR] if x.shape[-1] >= LEAST]:
        logits = full(x).astype(np.float64).reshape(-1, x.shape[-1])
        near = [h for h in inputs if h.shape[:-1] == x.shape[:-1] and h is not x][:NEAR]
        sides = [_slopes(layer.arrays, logits, near) for layer in (both.a, both.b)]
        for described in (_rows, _tokens):
            says = [side and described(*side, shape=x.shape[:-1]) for side in sides]
            if None not in says and says[0] != says[1]:
                return Explanation("the loss: %s in A; %s in B" % tuple(says), pages.MEAN)
    return None


def _slopes(arrays, logits, near):
    """(the scores' gradient, known columns, probabilities); None if there are none."""
    gradients = [x for x in arrays if steps.kind(x.name)[:2] == ("gradient", 1) and x.finite]
    for array, h in itertools.product(gradients, near):
        shape = logits.shape[1], h.size // len(logits)
        if array.shape not in (shape, shape[::-1]) or len(logits) > FEWER * shape[1]:
            continue
        x, gradient = full(h).astype(np.float64).reshape(len(logits), -1), full(array)
        gradient = (gradient if array.shape == shape else gradient.T).astype(np.float64)
        slopes = np.linalg.lstsq(x.T, gradient.T, rcond=1e-9)[0]  # (tokens, labels)
        left = np.abs(np.dot(x.T, slopes) - gradient.T).max(0)
        clean = left <= LEFT * np.abs(gradient).max(1)
        if clean.sum() >= LEAST:
            return slopes, clean, softmax(logits, 1)
    return None


def _rows(slopes, clean, chances, shape):
    """The loss in words, smoothing included, if all columns are known; or None."""
    return losses.described(slopes, chances) if clean.all() else None


def _tokens(slopes, clean, chances, shape):
    """Which tokens count, in words; None if unknown."""
    weights = _shares(slopes, clean, chances)
    return None if weights is None else _words(weights, shape)


def _shares(slopes, clean, chances):
    """The share of each token in the loss; None if unknown."""
    ratios = slopes[:, clean] / chances[:, clean]
    weights = np.median(ratios, 1)
    largest = np.abs(weights).max()
    alike = np.abs(ratios - weights[:, None]) <= EXACT * largest
    if not largest or (alike.mean(1) < MOST).any() or weights.min() < -ZERO * largest:
        return None
    return np.where(weights > ZERO * largest, weights, 0) / weights.sum()


def _words(weights, shape):
    """Which tokens count, and whether they count equally, in words."""
    count, total = np.count_nonzero(weights), len(weights)
    who = (
        "all %d tokens count" % total
        if count == total
        else "%d of %d tokens count" % (count, total)
    )
    own = weights[weights > 0]
    if np.ptp(own) <= 2 * EXACT * own.max():
        return who + ", each as much as another"
    if len(shape) == 2:
        table = weights.reshape(shape)
        sums = table.sum(1)
        means = [row[row > 0] for row in table if row.any()]
        even = all(np.ptp(row) <= 2 * EXACT * row.max() for row in means)
        if even and np.ptp(sums[sums > 0]) <= 2 * EXACT * sums.max():
            return who + ", in the mean of each sequence's own mean"
    return who + ", by up to %.3g times as much as others" % (own.max() / own.min())
