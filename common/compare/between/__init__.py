"""What differs between two layers whose inputs agree, where neither alone shows its function.

A module has ``explain(both)``, which returns an ``Explanation`` or None.
"""

from common.compare.between import batchnorm, losses, positions, probabilities, rows, transposed

WAYS = (probabilities, transposed, positions, rows, batchnorm, losses)


def explain(both):
    """The first ``Explanation`` that holds; None if none does."""
    for way in WAYS:
        found = way.explain(both)
        if found is not None:
            return found
    return None
