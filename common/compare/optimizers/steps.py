"""Gradients, weights and updates among a recording's arrays, by their names.

``grad fc.weight``, ``fc.weight.grad``; ``step1 fc.weight``, ``fc.weight after 1``; ``update1
fc.weight``; and ``fc.weight``, ``before fc.weight`` or ``step0 fc.weight`` for those of the start.
"""

import re
from collections import OrderedDict

import numpy as np

from common.compare.layers.layer import full
from common.compare.names import key, words

SPACE = r"[ ._/:-]+"
PATTERNS = (
    ("gradient", r"(?i)(?:grad|gradient|g|d)(?P<step>\d*)" + SPACE + "(?P<name>.+)$"),
    ("gradient", r"(?i)(?P<name>.+)" + SPACE + r"(?:grad|gradient)(?P<step>\d*)$"),
    ("update", r"(?i)update[ _]?(?P<step>\d*)" + SPACE + "(?P<name>.+)$"),
    ("weight", r"(?i)(?:step|after)[ _]?(?P<step>\d+)" + SPACE + "(?P<name>.+)$"),
    ("weight", r"(?i)(?P<name>.+)" + SPACE + r"(?:step|after)[ _]?(?P<step>\d+)$"),
    ("start", r"(?i)(?:before|start|initial)(?P<step>)" + SPACE + "(?P<name>.+)$"),
)


class Step:
    """One tensor's first step: its gradient, its weights after it and, if known, before it."""

    def __init__(self, name, gradient, after, before=None):
        self.name, self.gradient, self.after, self.before = name, gradient, after, before

    @property
    def update(self):
        """What the step added."""
        return self.after - self.before


def kind(name):
    """(kind, step, name of the tensor) of an array; kind is "plain" for any other name."""
    for what, pattern in PATTERNS:
        match = re.match(pattern, name)
        if match:
            step = match.group("step")
            return what, int(step) if step else 1, key(words(match.group("name")))
    return "plain", 0, key(words(name))


def of(arrays):
    """{name: ``Step``} of the tensors whose gradient and weights after a step are there."""
    found = {}
    for array in arrays:
        if array.finite and array.dtype.kind == "f":
            what, step, name = kind(array.name)
            found.setdefault(name, {})[what, step] = full(array).astype(np.float64)
    steps = OrderedDict()
    for name, parts in found.items():
        gradient, after = parts.get(("gradient", 1)), parts.get(("weight", 1))
        before = next(
            (parts[k] for k in (("weight", 0), ("start", 1), ("plain", 0)) if k in parts), None
        )
        update = parts.get(("update", 1))
        if gradient is None or (after is None and (before is None or update is None)):
            continue
        after = before + update if after is None else after
        if before is None and update is not None:
            before = after - update
        if after.shape == gradient.shape and (before is None or before.shape == after.shape):
            steps[name] = Step(name, gradient, after, before)
    return steps
