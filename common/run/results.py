"""The result file of a run."""

import json
import os

import numpy as np

from common.system import interpreter, machine
from common.system.files import atomic_write, reports_folder

SCHEMA_VERSION = 1


def path(request, recipe, dataset, facts):
    """Where a result goes without ``--out``: a folder per machine, a file per kind of run.

    Each difference from the recipe is in the name, so that only the recipe has the plain name.
    """
    parts = [request.framework] + ([request.model.name] if request.model.name != "cnn" else [])
    parts += [request.lane, "%dx%d" % (recipe.train_images, recipe.epochs)]
    parts += ["synthetic"] if dataset.name.startswith("synthetic") else []
    parts += ["seed%d" % request.seed] if request.seed else []
    parts += ["no-dropout"] if request.hp != request.model.hp else []
    if request.files.initial:
        parts += ["weights", interpreter.mark(os.path.abspath(request.files.initial))]
    parts += ["%dtest" % request.test_images] if request.test_images else []
    if request.workers > 1:
        parts += ["%dx%d" % (request.workers, request.threads)]
    elif request.threads != facts["cores"]:
        parts += ["%dthreads" % request.threads]
    if request.python:
        parts += ["own", interpreter.mark(request.python)]
    folder = reports_folder("results", machine.folder_name(facts))
    return os.path.join(folder, "-".join(parts) + ".json")


def stopped(path):
    """Where what a stopped process has measured goes, beside its result file."""
    start, ending = os.path.splitext(path)
    return start + "-stopped" + ending


def described(dataset):
    """A data set, as a dict of JSON values."""
    return {
        "name": dataset.name,
        "sha256": dataset.sha256,
        "train_images": len(dataset.train_labels),
        "test_images": len(dataset.test_labels),
    }


def proven(result):
    """Whether a run's certificate passed and, at its end, its updates were still right."""
    late = result.get("late_updates", {"passed": True})
    return result["certificate"]["passed"] and late["passed"]


def wilson_interval(accuracy, n):
    """95% confidence interval of a proportion measured on ``n`` images (Wilson, 1927)."""
    z = 1.96
    centre = (accuracy + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(accuracy * (1 - accuracy) / n + z * z / (4.0 * n * n)) / (1 + z * z / n)
    return [float(centre - half), float(centre + half)]


def rounding(n):
    """Standard deviation of an accuracy's rounding to one of ``n`` images (Sheppard, 1898)."""
    return 1 / (n * np.sqrt(12))


def write(path, result):
    """Write ``result`` as JSON atomically; ValueError for NaN.

    Each part is a line, so that a diff shows the changed parts, and all losses take one line.
    """
    parts = ["%s: %s" % (json.dumps(k), json.dumps(v, allow_nan=False)) for k, v in result.items()]
    with atomic_write(path) as file:
        file.write(("{\n%s\n}\n" % ",\n".join(parts)).encode())
