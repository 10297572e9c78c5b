"""Finds what layers compute, and where layers of A and B compute different things."""

import numpy as np

from common.compare.layers import (
    activation,
    changed_kernel,
    combination,
    convolution,
    gate,
    gated_norm,
    linear,
    modulation,
    normalisation,
    pooling,
    recorded_kernel,
    recurrent,
    reduction,
    resize,
    rotary,
    scores,
    sinusoid,
    statistics,
)
from common.compare.layers import docs as pages
from common.compare.layers.layer import SURE, Fit, Layer, Verdict

FAMILIES = (
    combination,
    activation,
    normalisation,
    modulation,
    gate,
    gated_norm,
    linear,
    rotary,
    sinusoid,
    scores,
    recurrent,
    reduction,
    pooling,
    resize,
    convolution,
    recorded_kernel,
    statistics,
)
SOME = 2**13  # values that show whether a layer is a norm


def fit(layer):
    """The first ``Fit`` of a layer, from the simplest family on, usual constants first; or None."""
    with np.errstate(all="ignore"):
        for family in FAMILIES:
            for case in family.cases(layer):
                found = best(family, case)
                if found is not None:
                    return found
    return None


def best(family, case):
    """The ``Fit`` of a case: the first option that is as near as the nearest; None if none fits."""
    tried = []
    for constants in family.options(case):
        off = family.off(case, constants)
        tried.append((off, constants))
        if getattr(family, "GREEDY", False) and off <= case.limit:
            break
    least = min(off for off, _ in tried) if tried else np.inf
    if not least <= case.limit:
        return None
    return next(
        Fit(family, case, constants, off)
        for off, constants in tried
        if off <= max(1.2 * least, 0.02 * case.limit)
    )


def copies(found):
    """Whether a layer is one of its inputs as it is, such as a dropout that is off."""
    return found.family is combination and combination.copies(found.constants)


def origin(found, known):
    """The ``Fit``, or its input's if the layer only copies one whose name is not known."""
    while found is not None and copies(found) and found.case.inputs[0].name not in known:
        found = _of_input(found)
    return found


def _of_input(found):
    """The ``Fit`` of a layer's first input; None also if only the other side recorded that."""
    layer, x = found.case.layer, found.case.inputs[0]
    place = next((n for n, array in enumerate(layer.arrays) if array is x), None)
    return None if place is None else fit(Layer(layer.arrays, place, layer.bank))


def is_sum(found):
    """Whether a layer is a sum of inputs, perhaps with a ReLU after it."""
    return found.family is combination and found.constants["count"] > 1


def judged(a, b, fits, likely=True):
    """The ``Verdict`` on a layer of A and its counterpart in B, by each one's ``Fit`` or None.

    likely: whether they differ, or agree much worse than earlier layers. Others compute the same,
    perhaps from values in another order.
    """
    says = docs = None
    if likely and None not in fits and same_family(*fits) and _comparable(*fits):
        family = fits[0].family
        if differ(*fits) and not (family is statistics and statistics.is_convention(*fits)):
            says = sentence(*fits)
            docs = getattr(family, "DOCS", None) or family.docs(*(fit.constants for fit in fits))
        elif family is normalisation and _as_many(*fits):
            change = normalisation.epsilons(*fits) or normalisation.weights(*fits)
            says, docs = change or (None, None)
        elif family is convolution and fits[0].constants == fits[1].constants:
            change = changed_kernel.change(*fits)
            if change is not None:
                says = "%s: B's kernel is A's, %s" % (family.words(fits[0].constants), change)
                docs = pages.FLIPPED
    return Verdict(a, b, fits[0], fits[1], says is not None, says, docs)


def other_epsilon(a, b):
    """Whether both layers are norms with different epsilons, though their results may agree.

    If the variance is near 1, an epsilon changes less than the tolerance, but more than the norm's
    own rounding.
    """
    ours = norm(a)
    theirs = ours and norm(b)
    if theirs is None:
        return False
    return differ(ours, theirs) or normalisation.epsilons(ours, theirs) is not None


def norm(layer):
    """The ``Fit`` of a norm over the last axis, by some of its rows; None if it is not a norm."""
    if not normalisation.may_be(layer.output):
        return None
    with np.errstate(all="ignore"):
        fits = (best(normalisation, case) for case in normalisation.by_row(layer, SOME))
        return next((found for found in fits if found is not None), None)


def _comparable(a, b):
    """Whether B's inputs have A's order if that matters; otherwise, weights may make up for it."""
    return all(array.name in b.case.layer.in_order for array in ordered(b, a))


def ordered(fit, other=None):
    """The inputs of a fit whose values may be in another order than those of the other's."""
    find = getattr(fit.family, "ordered", lambda *_: [])
    return find((other or fit).constants, fit.constants, fit.case.inputs)


def same_family(a, b):
    """Whether two fits can be compared constant by constant."""
    return a.family is b.family


def differ(a, b):
    """Whether neither side's constants fit the other side."""
    if not same_family(a, b) or not _as_many(a, b):
        return False
    if a.constants == b.constants:
        return False
    with np.errstate(all="ignore"):
        crossed = a.family.off(a.case, b.constants), b.family.off(b.case, a.constants)
    # Of nested options, the first that fits is the smallest, so one side is proof enough.
    needed = any if getattr(a.family, "NESTED", False) else all
    return needed(off > max(x.case.limit / 4, SURE * x.off) for off, x in zip(crossed, (a, b)))


def _as_many(a, b):
    """Whether both have as many inputs; a norm's only one may be the sum of the other's two."""
    fewer, more = sorted((a, b), key=lambda fit: len(fit.case.inputs))
    if len(fewer.case.inputs) == len(more.case.inputs):
        return True
    if fewer.family is not normalisation or "added" in more.constants:
        return False
    found = _of_input(fewer)
    return found is not None and is_sum(found)


def function(fit):
    """A side's function in words, with the names of its inputs."""
    inputs = " and ".join(array.name for array in fit.case.inputs)
    return "%s; computed from %s" % (fit.family.words(fit.constants), inputs)


def shown(fit):
    """A side's function in words; some families also say how certain its constants are."""
    return getattr(fit.family, "shown", lambda fit: fit.family.words(fit.constants))(fit)


def sentence(*fits):
    """How two fits differ, in words."""
    a, b = (shown(fit) for fit in fits)
    common = _shared_start(a, b)
    return "%s in A, %s in B" % (a, b[len(common) :])


def _shared_start(a, b):
    """The words that both begin with, if a number follows."""
    ours, theirs = a.split(" "), b.split(" ")
    count = next((n for n, (x, y) in enumerate(zip(ours, theirs)) if x != y), 0)
    start = " ".join(ours[:count])
    return start + " " if start and theirs[count][:1].isdigit() else ""
