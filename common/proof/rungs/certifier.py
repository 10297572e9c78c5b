"""Climb the rungs with modules, and make certificates."""

from collections import OrderedDict

import numpy as np

from common.proof import kinks
from common.proof.check import Check
from common.proof.oracle import Oracle
from common.proof.reference import applicable
from common.proof.rungs import (
    accuracy,
    data,
    dropout,
    forward,
    generation,
    gradient,
    momentum,
    trajectory,
    weights,
)
from common.proof.rungs.subject import Subject

CHECKS = OrderedDict(
    (rung.__name__.rsplit(".", 1)[1], rung.checks)
    for rung in (
        data,
        weights,
        forward,
        gradient,
        momentum,
        trajectory,
        dropout,
        accuracy,
        generation,
    )
)
RUNGS = tuple(CHECKS)
SPECIAL = {"dropout": "dropout", "generation": "attention"}  # rungs, and the trait that needs them


class Certifier:
    """Climbs with one module after another; they share the reference's results."""

    Subject = Subject

    def __init__(self, model, threads, cache=None, products="float32"):
        self.model = model
        self.oracle = Oracle(model, threads, {} if cache is None else cache, products)
        self.rungs = [rung for rung in RUNGS if {SPECIAL.get(rung)} <= model.traits | {None}]

    def take(self, module, lane):
        """Put ``module`` in this lane under test, with new models."""
        self.subject = self.Subject(self.oracle, module, lane)

    def climb(self, rung, stop_early=False):
        """One rung's result: its worst check, and the detail of the first check that failed.

        stop_early: stop at the first failed check.
        """
        checks = []
        try:
            with np.errstate(invalid="ignore"):  # masks are NaN where they cannot be read
                for check in CHECKS[rung](self.subject):
                    checks.append(check)
                    if stop_early and not check.passed:
                        break
        except kinks.NearKink as error:  # weights that no correct module reaches
            checks.append(Check("images to compare", np.inf, 0, str(error)))
        except Exception as error:  # a module that raises fails this rung
            checks.append(self.raised(error))
        return self.result(rung, checks, max(checks, key=lambda check: check.ratio))

    def result(self, rung, checks, worst):
        """A rung's result as a dict of JSON values."""
        failed = [check for check in checks if not check.passed]
        return OrderedDict(
            [
                ("rung", rung),
                ("passed", not failed),
                ("what", worst.what),
                ("error", worst.error if np.isfinite(worst.error) else None),
                ("tolerance", worst.tolerance),
                ("checks", len(checks)),
                ("detail", failed[0].detail + failed[0].hint if failed else ""),
            ]
        )

    def raised(self, error):
        """The failed check that reports an exception."""
        return Check("ran", np.inf, 0, "%s: %s" % (type(error).__name__, error))

    def certify(self, name, module, lane, report=lambda rung: None):
        """Climb all rungs with ``module``, and return its certificate: a dict of JSON values.

        report: called with each rung's result in turn.
        """
        self.take(module, lane)
        rungs = []
        for rung in self.rungs:
            rungs.append(self.climb(rung))
            report(rungs[-1])
        subject = self.subject
        return OrderedDict(
            [
                ("framework", name),
                ("model", self.model.name),
                ("lane", lane),
                ("passed", all(rung["passed"] for rung in rungs)),
                ("multiple", self.oracle.multiple),
                ("rungs", rungs),
                ("losses", subject.losses),
                ("settings", subject.settings),
            ]
            + [(key, getattr(subject.conventions, key)) for key in applicable(self.model)]
        )
