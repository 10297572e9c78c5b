"""The eight rungs that a framework's module climbs to be called the same network.

Each rung compares the module with the NumPy reference run in float64 in the same interpreter, with
tolerances that the reference's own float32 error sets. A rung is a module of this package whose
``checks(subject)`` yields its checks. ``subject`` is the module under test with the models that
several rungs share; ``certifier`` climbs.

A module that fails a rung still climbs the rest, so that a port's maker sees all of it at once; the
first failed rung is the one to read.
"""

from common.proof.rungs.certifier import RUNGS, Certifier

__all__ = ["RUNGS", "Certifier"]
