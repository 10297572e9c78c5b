"""What differs between two layers whose inputs agree, if neither shows its function alone.

A module has ``explain(both)``, which returns an ``Explanation`` or None.
"""

from common.compare.between import (
    attended,
    batchnorm,
    biased,
    buckets,
    counted,
    dense,
    hidden,
    kernels,
    losses,
    normed,
    places,
    positions,
    probabilities,
    rows,
    tokens,
    transposed,
)

WAYS = (
    tokens,
    probabilities,
    buckets,
    attended,
    places,
    dense,
    transposed,
    kernels,
    positions,
    batchnorm,
    normed,
    rows,
    losses,
    counted,
    hidden,
)

# These explain why a relation between the results holds.
BESIDE = (tokens, batchnorm, losses, counted, normed, biased)


def explain(both, related=False):
    """The first ``Explanation`` that holds; None if none does.

    related: whether a known relation maps A's result to B's.
    """
    for way in BESIDE if related else WAYS:
        found = way.explain(both)
        if found is not None:
            return found
    return None
