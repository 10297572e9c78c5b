"""Rung weights: the weights that were put in come out bit for bit, as float32."""

import numpy as np

from common.networks import weights as canonical
from common.proof import contract
from common.proof.check import Check
from common.proof.reference import products
from common.system.modules import MIXED, TF32


def checks(subject):
    """The precision that the settings name, and the weights of a newly built model."""
    settings = subject.settings
    precision = settings["precision"]
    detail = "settings say %s; what can be proven is float32" % precision
    yield Check("precision", precision != "float32", 0, detail)
    named = products(settings)
    detail = "settings say products of %s, in lane %s" % (named, subject.lane)
    wrong = named != subject.oracle.products or named != MIXED.get(subject.lane, "float32")
    yield Check("products", wrong, 0, detail)
    taken = settings.get("tf32", False) and "tf32" not in settings.get("not_in_force", ())
    detail = "settings say that products take TF32, in lane %s" % subject.lane
    yield Check("TF32", taken and subject.lane != TF32, 0, detail)
    problems = contract.settings_problems(settings)
    yield Check("settings", len(problems), 0, "; ".join(problems))
    model, _ = subject.gradient_model()
    out = subject.module.weights(model)
    canonical.check(subject.model, out, "weights()")
    start = subject.oracle.biased
    different = [name for name, w in start.items() if not np.array_equal(w, out[name])]
    detail = "came back changed: %s" % ", ".join(different)
    yield Check("tensors that came back changed", len(different), 0, detail)
