"""The categories of a profile's operations: the layer or purpose that each operation serves.

``frameworks/X/operations.py`` has regular expressions for the operations' names in X's profiler.
The first one that matches decides; an operation that matches none is "other".

CATEGORIES: {category: expression}.
IN_THE_CNN: the same, only for the CNN, where it is searched first.
DIRECTIONS: {"forward" and "backward": expression}, if the profiler distinguishes the passes.
"""

import importlib
import os
import re
from collections import OrderedDict

import frameworks
from common.system.files import ROOT

FORWARD, BACKWARD = "convolution forward", "convolution backward"
CONVOLUTION = "convolution"  # direction unknown
LAYERS = ("dense", "pool", "ReLU", "dropout", "loss", "update")
TOGETHER = "not told apart"  # several categories in one operation
OTHER = "other"
CATEGORIES = (FORWARD, BACKWARD, CONVOLUTION) + LAYERS + ("layout and copies", TOGETHER, OTHER)
PHASES = ("forward", "backward", "update")


def _table(name, table):
    """A table for an environment's profiler; empty if its folder has none."""
    environment = frameworks.ENVIRONMENTS[name]
    folder = environment.profiler or environment.folder
    if not os.path.isfile(os.path.join(ROOT, "frameworks", folder, "operations.py")):
        return {}
    return getattr(importlib.import_module("frameworks.%s.operations" % folder), table, {})


def category(name, model, operation):
    """The category of an operation in an environment's profile of a model."""
    for table in ("IN_THE_CNN", "CATEGORIES") if model == "cnn" else ("CATEGORIES",):
        for known, expression in _table(name, table).items():
            if re.search(expression, operation):
                return known
    return OTHER


def shares(name, model, operations):
    """{category: its share of a profile's sum}, from {operation: seconds}; no empty categories."""
    total = sum(operations.values())
    seconds = OrderedDict((known, 0.0) for known in CATEGORIES)
    for operation, took in operations.items():
        seconds[category(name, model, operation)] += took
    return OrderedDict((known, took / total) for known, took in seconds.items() if took)


def phases(name, model, operations):
    """{phase: its share of a profile's sum}; empty if the profiler has no directions."""
    directions = _table(name, "DIRECTIONS")
    if not directions:
        return OrderedDict()
    total = sum(operations.values())
    seconds = OrderedDict((phase, 0.0) for phase in PHASES)
    for operation, took in operations.items():
        if category(name, model, operation) == "update":
            seconds["update"] += took
        elif re.search(directions["backward"], operation):
            seconds["backward"] += took
        elif re.search(directions["forward"], operation):
            seconds["forward"] += took
    return OrderedDict((phase, took / total) for phase, took in seconds.items())
