"""The result file: what a run was, what it proved and what it measured."""

import json

import numpy as np

from common.system.files import atomic_write

SCHEMA_VERSION = 1


def wilson_interval(accuracy, n, z=1.96):
    """95% confidence interval of a proportion measured on ``n`` images (Wilson, 1927)."""
    centre = (accuracy + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(accuracy * (1 - accuracy) / n + z * z / (4.0 * n * n)) / (1 + z * z / n)
    return [float(centre - half), float(centre + half)]


def write(path, result):
    """Write ``result`` as JSON, whole or not at all; a NaN in it is an error, not a value.

    A line for each part, so that a diff shows which parts changed and thousands of losses are one.
    """
    parts = ["%s: %s" % (json.dumps(k), json.dumps(v, allow_nan=False)) for k, v in result.items()]
    with atomic_write(path) as file:
        file.write(("{\n%s\n}\n" % ",\n".join(parts)).encode())
