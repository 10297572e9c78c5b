"""Which answers a check can do without: each part proves one more rung, and is large."""

from collections import OrderedDict

PARTS = OrderedDict(
    [
        ("weights", ("gradient/after0/",)),
        ("dropout", ("probe/after", "probe/scores", "probe_again/", "probe_other_seed/")),
        ("accuracy", ("recipe/after", "recipe/scores")),
    ]
)  # {rung: beginnings of the names of its answers}


def parts(names, description):
    """(the names that decide, {rung: names of its optional part}) of all answers' names."""
    decide, left = [], OrderedDict((rung, []) for rung in PARTS)
    for name in names:
        rung = _rung(name, description)
        (decide if rung is None else left[rung]).append(name)
    return decide, OrderedDict((rung, part) for rung, part in left.items() if part)


def _rung(name, description):
    """The rung whose optional part has this answer; None if the answer decides."""
    if "dropout" not in description.traits and name.startswith("probe/"):
        return None
    if name == "probe/after1/" + list(description.shapes)[-1]:
        return None  # the gradient of labels that are almost impossible
    return next((rung for rung, starts in PARTS.items() if name.startswith(starts)), None)
