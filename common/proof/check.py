"""A check: an error and its tolerance. Rungs consist of checks."""

import numpy as np


class Check:
    """One comparison: its error, its tolerance, and a sentence for the reader if it fails."""

    def __init__(self, what, error, tolerance, detail=""):
        self.what = what
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
