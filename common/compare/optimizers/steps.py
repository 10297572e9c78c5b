"""Gradients, weights and updates among a recording's arrays, by their names.

``grad fc.weight``, ``fc.weight.grad``; ``step1 fc.weight``, ``fc.weight after 1``; ``update1
fc.weight``; and ``fc.weight``, ``before fc.weight`` or ``step0 fc.weight`` for the first weights.
"""

import re
from collections import OrderedDict
from functools import lru_cache

import numpy as np

from common.compare.layers.layer import full
from common.compare.names import is_parameter, key, words

SPACE = r"[ ._/:-]+"
PATTERNS = (
    ("gradient", r"(?i)(?:grad|gradient)(?P<step>\d{0,9})" + SPACE + "(?P<name>.+)$"),
    # But "d1.conv" is a layer, such as the first one of a U-Net's way down.
    ("gradient", r"(?i)[gd](?P<step>\d{0,9})(?P<by>(?<!\d)" + SPACE + "| +)(?P<name>.+)$"),
    ("gradient", r"(?i)(?P<name>.+)" + SPACE + r"(?:grad|gradient)(?P<step>\d{0,9})$"),
    ("update", r"(?i)update[ _]?(?P<step>\d{1,9})" + SPACE + "(?P<name>.+)$"),
    ("update", r"(?i)update(?P<step>)(?P<by>" + SPACE + ")(?P<name>.+)$"),
    ("weight", r"(?i)(?:step|after)[ _]?(?P<step>\d{1,9})" + SPACE + "(?P<name>.+)$"),
    ("weight", r"(?i)(?P<name>.+)" + SPACE + r"(?:step|after)[ _]?(?P<step>\d{1,9})$"),
    ("start", r"(?i)(?:before|start|initial)(?P<step>)(?P<by>" + SPACE + ")(?P<name>.+)$"),
)


class Step:
    """One tensor's first step: its gradient, its weights after it and, if known, before it."""

    def __init__(self, name, gradient, after, before=None):
        self.name, self.gradient, self.after, self.before = name, gradient, after, before

    @property
    def update(self):
        """What the step added."""
        return self.after - self.before


def _matched(name):
    """(kind, match) of an array of steps; None for any other.

    Layers may be called ``G.conv1``, ``update_gate`` or ``start_logits``. So some words count only
    if a space or a colon follows, or a parameter's name.
    """
    for what, pattern in PATTERNS:
        match = re.match(pattern, name)
        if match:
            by = match.groupdict().get("by", " ")
            if set(by) & set(" :") or is_parameter(match.group("name")):
                return what, match
    return None


@lru_cache(maxsize=None)
def kind(name):
    """(kind, step, name of the tensor) of an array; kind is "plain" for any other name."""
    found = _matched(name)
    if found is None:
        return "plain", 0, key(words(name))
    what, match = found
    step = match.group("step")
    return what, int(step) if step else 1, key(words(match.group("name")))


def moment(name):
    """(kind, step) of an array of steps; None for any other."""
    what, step, _ = kind(name)
    loss = re.match(r"(?i)loss[ _]?(\d{1,9})$", name)
    if loss:
        return "loss", int(loss.group(1))
    if what == "start":
        return "weight", 0
    return None if what == "plain" else (what, step)


def label(name):
    """The name of the tensor as it was written."""
    found = _matched(name)
    return name if found is None else found[1].group("name")


class Walk:
    """One tensor's steps: its gradients, and its weights before the first one and after each."""

    def __init__(self, name, gradients, weights):
        self.name, self.gradients, self.weights = name, gradients, weights


def walks(arrays):
    """{name: ``Walk``} of tensors with recorded gradients and weights.

    All walks have the same length, from the first step to the last one that every tensor has.
    """
    found = OrderedDict()
    for name, parts in _parts(arrays).items():
        weights, gradients = [_start(parts)], []
        while weights[-1] is not None and ("gradient", len(weights)) in parts:
            gradients.append(parts["gradient", len(weights)])
            weights.append(parts.get(("weight", len(weights))))
        gradients = gradients[: sum(w is not None for w in weights) - 1]
        shapes = {x.shape for x in gradients + weights if x is not None}
        if gradients and len(shapes) == 1:
            found[name] = Walk(parts["name"], gradients, weights[: len(gradients) + 1])
    count = min([len(walk.gradients) for walk in found.values()] or [0])
    for walk in found.values():
        walk.gradients, walk.weights = walk.gradients[:count], walk.weights[: count + 1]
    return found


def _parts(arrays):
    """{tensor: {(kind, step): values}}"""
    found = OrderedDict()
    for array in arrays:
        if array.finite and array.dtype.kind == "f":
            what, step, name = kind(array.name)
            parts = found.setdefault(name, {})
            parts[what, step] = array
            parts.setdefault("name", label(array.name))
    for parts in found.values():
        if len(parts) > 2:  # more than an array of the pass
            for key in [key for key in parts if key != "name"]:
                parts[key] = full(parts[key]).astype(np.float64)
    return OrderedDict((name, parts) for name, parts in found.items() if len(parts) > 2)


def _start(parts):
    """The weights before the first step; None if they were not recorded."""
    keys = (("weight", 0), ("start", 1), ("plain", 0))
    return next((parts[key] for key in keys if key in parts), None)


def of(arrays):
    """{name: ``Step``} of tensors with a recorded gradient and weights after the first step."""
    steps = OrderedDict()
    for name, parts in _parts(arrays).items():
        gradient, after = parts.get(("gradient", 1)), parts.get(("weight", 1))
        before, update = _start(parts), parts.get(("update", 1))
        known = [x for x in (before, after, update) if x is not None]
        if gradient is None or len({x.shape for x in known + [gradient]}) > 1:
            continue
        if after is None and (before is None or update is None):
            continue
        after = before + update if after is None else after
        if before is None and update is not None:
            before = after - update
        steps[name] = Step(parts["name"], gradient, after, before)
    return steps
