"""Whether one side adds a small number to the norm by which it clips gradients.

After clipping, the global norm of the gradients equals the limit, up to rounding. If a side adds
1e-6 to the norm before it divides, the global norm is smaller, by at most 1e-6 if the limit is 1.
"""

from collections import OrderedDict

import numpy as np

from common.compare.layers.layer import number
from common.compare.optimizers import fit, steps

ADDED = 1e-6
EXACT = 1.5e-7  # of the limit: rounding of the common factor
SHOWN = 3e-7  # of the limit, the least that shows that something is added


def explained(a, b):
    """The side that adds a number to the norm, in words; None if no recorded step shows it."""
    ours, theirs = _norms(a), _norms(b)
    if set(ours) != set(theirs):
        return None
    pairs = [(ours[step], theirs[step]) for step in ours]
    for names, turned in (("AB", pairs), ("BA", [pair[::-1] for pair in pairs])):
        limits = [_limit(less, exact) for less, exact in turned]
        shown = {limit for limit in limits if limit}
        if len(shown) == 1:
            says = "gradients clipped to a global norm of %s, which are divided by the norm "
            says += "plus %s in %s, by the norm in %s"
            return says % (number(shown.pop()), number(ADDED), names[0], names[1])
    return None


def _norms(arrays):
    """{step: global norm} of the recorded gradients."""
    squares = OrderedDict()
    for array in arrays:
        what, step, _ = steps.kind(array.name)
        if what == "gradient" and array.finite:
            square = np.square(array.values, dtype=np.float64).sum()
            squares[step] = squares.get(step, 0.0) + float(square)
    return OrderedDict((step, square**0.5) for step, square in squares.items())


def _limit(less, exact):
    """The limit of a step, if it is one side's norm, and the other's is a little smaller."""
    if not exact or not fit.is_round(exact):
        return None
    limit = fit.rounded(exact)
    missing = 1 - less / limit
    if abs(exact / limit - 1) > EXACT or missing < SHOWN:
        return None
    before = ADDED / missing - ADDED  # the norm before clipping
    return limit if before >= 0.99 * limit else None
