"""Mistakes between the outputs and their gradient: targets and losses."""

import numpy as np

from common.challenge.causes import Cause, with_targets
from common.challenge.networks import back_through_softmax
from common.challenge.updates import rounded
from common.compare.functions import log_softmax, softmax
from common.data.shakespeare import IGNORED
from common.networks.model import CLASSES, TOKENS
from common.system.modules import replaced

LOSS, TARGETS = "loss and its reduction", "label type"  # concepts of the phrase book
SMALL_SCORES = 1e-3  # share of an error that may remain after a division by small scores


def with_criterion(change):
    """A cause's ``make`` that replaces the loss by ``change(criterion)``."""

    def make(module):
        def loss(network, settings, hp, weights):
            network, criterion, optimizer = module.loss(network, settings, hp, weights)
            return network, change(criterion), optimizer

        return replaced(module, loss=loss)

    return make


def smoothed(share):
    """Label smoothing: labels spread ``share`` of their weight evenly over all classes."""

    def change(criterion):
        def loss(scores, labels):
            value, g = criterion(scores, labels)
            one_hot = np.eye(scores.shape[1])[labels]
            g = g + share * (one_hot - 1 / scores.shape[1]) / len(labels)
            return (1 - share) * value - share * log_softmax(scores, 1).mean(), g

        return loss

    return change


def weighed(weight):
    """The gradient is multiplied by ``weight(n)`` for a batch of n."""

    def change(criterion):
        def loss(scores, labels):
            value, g = criterion(scores, labels)
            return value, g * weight(len(labels))

        return loss

    return change


def absolute(criterion):
    """The mean absolute difference."""

    def loss(values, targets):
        difference = values - targets
        return np.abs(difference).mean(), np.sign(difference) / difference.size

    return loss


def last_step(criterion):
    """Only the last step of a sequence counts."""

    def loss(values, targets):
        value, g = criterion(values[:, -1:], targets[:, -1:])
        every = np.zeros_like(values)
        every[:, -1:] = g
        return value, every

    return loss


def of_probabilities(criterion):
    """The loss expects scores, but gets their softmax."""

    def loss(scores, targets):
        p = softmax(scores, -1)
        value, g = criterion(p, targets)
        return value, back_through_softmax(p, g)

    return loss


def clipped(limit):
    """A probability below ``limit`` is replaced by it, and has no gradient."""

    def change(criterion):
        def loss(scores, labels):
            _, g = criterion(scores, labels)
            p = softmax(scores, 1)[np.arange(len(labels)), labels]
            return -np.log(np.maximum(p, limit)).mean(), g * (p >= limit)[:, None]

        return loss

    return change


def of_scores_as_probabilities(criterion):
    """The loss expects probabilities, but gets scores, which it clips at 1e-7."""

    def loss(scores, labels):
        kept = np.clip(scores, 1e-7, 1 - 1e-7)
        value, g = criterion(np.log(kept), labels)
        return value, np.where(kept == scores, g / kept, 0)

    return loss


def of_shares(criterion):
    """The loss expects probabilities: it divides scores by their sum and clips them at 1e-7."""

    def loss(scores, labels):
        total = scores.sum(1, keepdims=True)
        shares, rows = scores / total, np.arange(len(labels))
        own = shares[rows, labels]
        kept = np.clip(own, 1e-7, 1 - 1e-7)
        g = np.zeros_like(shares)
        g[rows, labels] = np.where(own == kept, -1 / kept, 0) / len(labels)
        return -np.log(kept).mean(), (g - (g * shares).sum(1, keepdims=True)) / total

    return loss


def without_softmax(criterion):
    """The loss treats scores as logarithms of probabilities."""

    def loss(scores, labels):
        one_hot = np.eye(scores.shape[1], dtype=scores.dtype)[labels]
        return -(scores * one_hot).sum(1).mean(), -one_hot / len(labels)

    return loss


def ignoring(label, divisor):
    """Rows with one label have no loss; the others' sum is divided by ``divisor(n, others)``."""

    def change(criterion):
        def loss(scores, labels):
            _, g = criterion(scores, labels)
            kept = labels != label
            number = divisor(len(labels), max(kept.sum(), 1))
            value = -log_softmax(scores, 1)[kept, labels[kept]].sum() / number
            return value, g * kept[:, None] * len(labels) / number

        return loss

    return change


def causes(description, evidence=None):
    """Causes of wrong gradients, in the targets and the loss.

    evidence: ``updates.Evidence`` of a step, or None.
    """
    size = description.hp.batch_size
    weights = [
        ("the gradient is divided by the batch's size twice", lambda n: 1.0 / n),
        ("the gradient is divided by %d, whatever the batch" % size, lambda n: n / float(size)),
    ]
    if description.task.name == CLASSES.name:
        weights.append(("the loss is the sum over the batch, not its mean", lambda n: n))
        has_momentum = "momentum" in description.traits
        (classes,) = list(description.shapes.values())[-1]
        every = _of_classes(classes, evidence if has_momentum else None)
    elif description.task.name == TOKENS.name:
        (steps,) = description.observation
        weights += [
            ("the loss is the sum over the batch", lambda n: n),
            ("the loss is the sum over the places of a text", lambda n: steps),
            ("the loss is the sum over all places", lambda n: n * steps),
        ]
        every = _of_tokens("ignored" in description.traits)
    else:
        steps = description.observation[0]
        weights += [
            ("the squared error is halved", lambda n: 0.5),
            ("the squared error is the sum over the steps", lambda n: steps),
            ("the squared error is the sum over the batch", lambda n: n),
            ("the squared error is the sum over all values", lambda n: n * steps),
        ]
        every = _of_values()
    every += [
        Cause(says, with_criterion(weighed(weight)), concept=LOSS) for says, weight in weights
    ]
    return every


def _of_classes(classes, evidence):
    shares = [0.05, 0.1, 0.2]
    if evidence and evidence.zero:
        # In the step without gradient, the other classes' biases move by the smoothed share.
        moved = list(evidence.zero.values())[-1]
        shares = [min(rounded(float(moved[1:].mean() * len(moved))), 1)]
    criteria = [
        ("softmax is applied twice: the loss is given probabilities", of_probabilities),
        (
            "there is no softmax in the loss: it takes logarithms (Gluon's from_logits=True)",
            without_softmax,
        ),
    ]
    criteria += [
        ("labels are smoothed by %g" % share, smoothed(share)) for share in shares if share > 1e-6
    ]
    criteria += [
        ("probabilities are raised to at least %g: %s" % (limit, whose), clipped(limit))
        for limit, whose in (
            (1e-7, "Keras's loss of probabilities"),
            (1e-8, "MXNet's softmax_cross_entropy"),
            (1e-10, "a constant put into the logarithm"),
            (1e-20, "Caffe2's CrossEntropy"),
        )
    ]
    criteria += [
        ("rows of class 0 have no loss, and the others' mean is taken", ignoring(0, _others)),
        ("rows of class 0 have no loss, and are counted in the mean", ignoring(0, _every)),
    ]
    labels = Cause(
        "the labels are off by one", with_targets(lambda y: (y + 1) % classes), concept=TARGETS
    )
    # Both divide by scores; small scores have few correct digits.
    says = "scores are treated as probabilities, %s (Keras without from_logits=True)"
    scores = [
        Cause(says % how, with_criterion(change), SMALL_SCORES, LOSS, bounds_loss=True)
        for how, change in (
            ("clipped and divided by their sum", of_scores_as_probabilities),
            ("divided by their sum and clipped", of_shares),
        )
    ]
    others = [Cause(says, with_criterion(change), concept=LOSS) for says, change in criteria]
    return [labels] + scores + others


def _others(n, others):
    return others


def _every(n, others):
    return n


def _shifted():
    late, early = (with_targets(lambda y, by=by: np.roll(y, by, 1)) for by in (1, -1))
    return [
        Cause("the targets are one step late", late, concept=TARGETS),
        Cause("the targets are one step early", early, concept=TARGETS),
    ]


def transposed(criterion):
    """The scores' places are compared with targets that are in the order of a transposed batch."""

    def loss(scores, targets):
        return criterion(scores, targets.T.reshape(targets.shape))

    return loss


def over_parts(count=None):
    """The mean of ``count`` micro-batches' means; by default, each text is one."""

    def change(criterion):
        def loss(scores, targets):
            parts = np.array_split(np.arange(len(targets)), count or len(targets))
            parts = [rows for rows in parts if (targets[rows] != IGNORED).any()]
            value, every = 0.0, np.zeros_like(scores)
            for rows in parts:
                part, every[rows] = criterion(scores[rows], targets[rows])
                value += part / len(parts)
            return value, every / len(parts)

        return loss

    return change


def over_all(criterion):
    """Ignored targets have no loss, but are counted in the mean."""

    def loss(scores, targets):
        value, g = criterion(scores, targets)
        share = (targets != IGNORED).mean()
        return value * share, g * share

    return loss


def _of_tokens(ignores):
    criteria = [
        ("softmax is applied twice: the loss is given probabilities", of_probabilities),
        ("the targets are in the order of a transposed batch", transposed),
    ]
    causes = _shifted()
    if ignores:
        criteria += [
            ("the loss is the mean of each text's mean, not of all targets", over_parts()),
            ("ignored targets are counted in the mean", over_all),
        ]
        says = "the loss is the mean of %d micro-batches' means, not of all targets (accumulation)"
        criteria += [(says % count, over_parts(count)) for count in (2, 4)]
        padding = with_targets(lambda y: np.where(y == IGNORED, 0, y))
        causes.append(Cause("padding is a target: character 0", padding, concept=LOSS))
    return causes + [Cause(says, with_criterion(made), concept=LOSS) for says, made in criteria]


def _of_values():
    return _shifted() + [
        Cause("the loss is the mean absolute difference", with_criterion(absolute), concept=LOSS),
        Cause("only the last step of a sequence counts", with_criterion(last_step), concept=LOSS),
    ]
