"""What differs between two layers whose inputs agree, where neither alone shows its function.

A module has ``explain(both)``, which returns an ``Explanation`` or None.
"""

from common.compare.between import (
    batchnorm,
    hidden,
    losses,
    positions,
    probabilities,
    rows,
    transposed,
)

WAYS = (probabilities, transposed, positions, batchnorm, rows, losses, hidden)


def explain(both):
    """The first ``Explanation`` that holds; None if none does."""
    for way in WAYS:
        found = way.explain(both)
        if found is not None:
            return found
    return None
