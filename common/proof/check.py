"""A check: an error and its tolerance. Rungs consist of checks."""

import numpy as np

# Kinds of checks that the diagnosis of a challenge distinguishes.
PREDICTION, TOO_EXACT = "prediction", "too exact"


class Check:
    """One comparison: its error, its tolerance, and a sentence for the reader if it fails.

    kind: a name for programs, such as ``PREDICTION``, where one needs it. hint: what the detail may
    mean, in words that follow it.
    """

    hint = ""

    def __init__(self, what, error, tolerance, detail="", kind=None):
        self.what, self.kind = what, kind
        self.error = float(error)
        self.tolerance = float(tolerance)
        self.detail = detail

    @property
    def passed(self):
        return self.error <= self.tolerance  # False for NaN

    @property
    def ratio(self):
        """The share of the tolerance that was used; infinite for an error where none is allowed."""
        if not np.isfinite(self.error):
            return np.inf
        if self.tolerance == 0:
            return np.inf if self.error else 0.0
        return self.error / self.tolerance
