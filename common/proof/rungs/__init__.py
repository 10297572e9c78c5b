"""The nine rungs that show that a framework's module is the same network as the reference.

Each rung compares the module with the NumPy reference in float64, in the same interpreter; the
reference's float32 error sets the tolerances. A rung is a module in this package whose
``checks(subject)`` yields its checks. ``subject.py`` has the module under test and the models that
several rungs share; ``certifier.py`` climbs.

After a failure the module still climbs the rest, so that you see everything at once. Read the first
failed rung.
"""

from common.proof.rungs.certifier import RUNGS, Certifier

__all__ = ["RUNGS", "Certifier"]
