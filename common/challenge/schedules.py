"""Mistakes around Adam in AdamW: the schedule of rates, clipping, decoupled weight decay."""

import numpy as np

from common.challenge.causes import Cause
from common.challenge.updates import (
    adam,
    clipped,
    clipped_by_value,
    clipped_each,
    rebased,
    rounded,
    varied,
    with_rule,
)
from common.mistakes.adam import cosine, rate_of

MANY = 20  # if more gradients share the largest value, they are clipped there
CLOSE = 1e-4  # shares that differ by less are equal up to rounding
READABLE = 0.995  # a share of Adam's full update from which a gradient can be read


def scheduled(hp, step):
    """The right rate of a step, which counts from 1."""
    return rate_of(hp, step - 1)


def by_norm(hp, weights, gradients):
    """All gradients together are at most as long as the limit."""
    return clipped(hp.clip)(hp, weights, gradients, None)


def of_matrices(hp, rate, name, w):
    """What decay subtracts from a weight: matrices and embeddings decay."""
    return rate * hp.weight_decay * w * (w.ndim > 1)


def around(rule, rate=scheduled, clip=by_norm, decay=of_matrices, late=False, coupled=False):
    """``rule`` with AdamW's schedule, clipping and decay; the defaults are right.

    late: the decay is a share of the weights after the update. coupled: it is a part of the
    gradient. ``varied`` replaces arguments.
    """

    def changed_rule(hp, step, weights, gradients, state):
        now = rate(hp, step)
        gradients = clip(hp, weights, gradients)
        if coupled:
            gradients = {n: g + decay(hp, 1, n, weights[n]) for n, g in gradients.items()}
        moved = rule(hp._replace(learning_rate=now), step, weights, gradients, state)
        if coupled:
            return moved
        shrunk = {n: weights[n] + u if late else weights[n] for n, u in moved.items()}
        return {n: u - decay(hp, now, n, shrunk[n]) for n, u in moved.items()}

    parts = dict(rate=rate, clip=clip, decay=decay, late=late, coupled=coupled)
    changed_rule.rebase = lambda new: around(rebased(rule, new), **parts)
    changed_rule.vary = lambda **changes: around(rule, **dict(parts, **changes))
    return changed_rule


adamw = around(adam)


def _late(hp, step):
    return rate_of(hp, step - 2) if step > 1 else 0.0


def _twice(hp, step):
    return rate_of(hp, max(step - 2, 0))


def _early(hp, step):
    return rate_of(hp, step)


def _from_zero(hp, step):
    if step <= hp.warmup:
        return hp.learning_rate * (step - 1) / float(hp.warmup)
    return scheduled(hp, step)


def _to_zero(hp, step):
    return scheduled(hp._replace(last_rate=0.0), step)


def _over_all(hp, step):
    return scheduled(hp if step <= hp.warmup else hp._replace(warmup=0), step)


def _rising(hp, step):
    return scheduled(hp, step) if step <= hp.warmup else cosine(hp, step - 1)


def _one_less(hp, step):
    return scheduled(hp._replace(steps=max(hp.steps - 1, hp.warmup + 1)), step)


def _constant(hp, step):
    return hp.learning_rate


def _no_warmup(hp, step):
    return scheduled(hp, max(step, hp.warmup + 1))


def _no_cosine(hp, step):
    return scheduled(hp, min(step, hp.warmup))


def _linear(hp, step):
    part = min(max(step - 1 - hp.warmup, 0) / float(hp.steps - hp.warmup), 1)
    falls = (hp.learning_rate - hp.last_rate) * part
    return scheduled(hp, step) if step <= hp.warmup else hp.learning_rate - falls


RATES = (
    ("the schedule is one step late, and its first rate is 0", _late),
    ("the schedule is one step late: the first rate comes twice", _twice),
    ("the schedule is one step early: it counts from 1", _early),
    ("the warm-up begins at 0: step t, from 0, has the rate t / warmup", _from_zero),
    ("the cosine ends at 0, not at last_rate", _to_zero),
    ("the cosine begins at step 0: its first part is lost in the warm-up", _over_all),
    ("the cosine is not stopped at its end: the rate rises again", _rising),
    ("the cosine ends one step early: it is divided by steps - 1", _one_less),
    ("there is no schedule: the rate is always the highest one", _constant),
    ("there is no warm-up", _no_warmup),
    ("there is no cosine: the rate remains the highest one after the warm-up", _no_cosine),
    ("the rate falls in a straight line, not in a cosine", _linear),
)


def _unclipped(hp, weights, gradients):
    return gradients


def _each(hp, weights, gradients):
    return clipped_each(hp.clip)(hp, weights, gradients, None)


def _always(hp, weights, gradients):
    if hp.clip > 2.0**50:  # never clipped
        return gradients
    norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    return {n: g * hp.clip / norm if norm else g for n, g in gradients.items()}


def twice_in_the_norm(name):
    """Clipping for which one tensor counts twice, as a tied weight that is listed twice."""

    def clip(hp, weights, gradients):
        norm = np.sqrt(sum((g**2).sum() for g in [*gradients.values(), gradients[name]]))
        return {n: g * min(1, hp.clip / norm) if norm else g for n, g in gradients.items()}

    return clip


CLIPS = (
    ("the gradients are not clipped", _unclipped),
    ("each tensor's gradient is clipped by its own norm, not by that of all together", _each),
    ("a gradient that is shorter than the limit is made longer", _always),
)


def _highest(hp, rate, name, w):
    return of_matrices(hp, hp.learning_rate, name, w)


def _alone(hp, rate, name, w):
    return of_matrices(hp, 1, name, w)


def _by_the_schedule(hp, rate, name, w):
    return of_matrices(hp, rate / hp.learning_rate, name, w)


def _every(hp, rate, name, w):
    return rate * hp.weight_decay * w


def _biases(hp, rate, name, w):
    return rate * hp.weight_decay * w * (w.ndim > 1 or name.endswith(".bias"))


def _attention_biases(hp, rate, name, w):
    return rate * hp.weight_decay * w * (w.ndim > 1 or name.endswith(".qkv.bias"))


def _normalisations(hp, rate, name, w):
    return rate * hp.weight_decay * w * (not name.endswith(".bias"))


def _without_embeddings(hp, rate, name, w):
    return of_matrices(hp, rate, name, w) * (name not in ("tokens.weight", "positions.weight"))


def _none(hp, rate, name, w):
    return 0 * w


DECAYS = (
    ("there is no weight decay", dict(decay=_none)),
    (
        "the decay is not multiplied by the scheduled rate, only by the highest",
        dict(decay=_highest),
    ),
    ("the decay is not multiplied by any rate", dict(decay=_alone)),
    (
        "the decay follows the schedule, but is not multiplied by the highest rate",
        dict(decay=_by_the_schedule),
    ),
    ("all tensors decay: biases and weights of normalisations, too", dict(decay=_every)),
    ("the embeddings do not decay", dict(decay=_without_embeddings)),
    ("the decay is in the gradient (L2), not beside it", dict(coupled=True)),
    ("the decay is a share of the weights after the update", dict(late=True)),
)

# In a network without biases, all vectors are weights of normalisations.
VECTORS_DECAY = (
    ("biases decay, too", dict(decay=_biases)),
    ("weights of normalisations decay, too", dict(decay=_normalisations)),
    (
        "the biases of queries, keys and values decay, too, as where they have an axis for heads",
        dict(decay=_attention_biases),
    ),
)


def _limits(first):
    """The value at which the gradients of a first step are clipped, if many share the largest.

    first: (hyperparameters, weights before, {tensor: update}). Adam's first update is the rate
    times g / (|g| + epsilon). Only gradients close to epsilon can be read from that.
    """
    hp, start, moved = first
    rate = scheduled(hp, 1)
    moved = {n: u + of_matrices(hp, rate, n, start[n]) for n, u in moved.items()}
    shares = np.concatenate([np.abs(u / rate).ravel() for u in moved.values()])
    largest = shares[shares > shares.max() - CLOSE]
    share = float(np.median(largest))
    if len(largest) > MANY and share < READABLE:
        yield rounded(hp.epsilon * share / (1 - share))


def by_value(limit, of=None):
    """Clipping of each value of a gradient; a share of ``hp.clip`` if ``of`` was that."""

    def clip(hp, weights, gradients):
        now = limit if of is None else limit * hp.clip / of
        return clipped_by_value(now)(hp, weights, gradients, None)

    return clip


def causes(rule, description, first=None):
    """Causes of wrong weights after a step of AdamW.

    first: (hyperparameters, weights before, {tensor: update}) of an answer's first step, or None.
    """
    varieties = [(says, dict(rate=rate), "schedule") for says, rate in RATES]
    varieties += [(says, dict(clip=clip), "clipping") for says, clip in CLIPS]
    for limit in _limits(first) if first else ():
        says = "the gradients' values are clipped at %g, not their norm" % limit
        varieties.append((says, dict(clip=by_value(limit)), "clipping"))
        of = first[0].clip
        says = "the gradients' values are clipped, at %g times clip, not their norm" % (limit / of)
        varieties.append((says, dict(clip=by_value(limit, of)), "clipping"))
    if "tied" in description.traits:
        clip = twice_in_the_norm("tokens.weight")
        says = "the tied weight counts twice in the norm that is clipped"
        varieties.append((says, dict(clip=clip), "clipping"))
    decays = DECAYS + (VECTORS_DECAY if "layernorm" in description.traits else ())
    varieties += [(says, parts, "weight decay") for says, parts in decays]
    leaves = {_always: 2e-3}  # a gradient that is made much longer has few right digits
    return [
        Cause(says, with_rule(varied(rule, **parts)), leaves.get(parts.get("clip"), 0), concept)
        for says, parts, concept in varieties
    ]
