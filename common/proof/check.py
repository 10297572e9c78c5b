"""What a rung is made of: one number, and how large it may be."""

import numpy as np


class Check:
    """One comparison: its error, its tolerance, and what a reader should know if it fails."""

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
        """How much of its tolerance was used; infinite where none was allowed."""
        if not np.isfinite(self.error):
            return np.inf
        if self.tolerance == 0:
            return np.inf if self.error else 0.0
        return self.error / self.tolerance
