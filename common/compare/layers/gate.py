"""A branch times its gate, a number for each channel from another input, or a sum with branches.

Gates are parts of one array: x + gate * branch, as in a diffusion transformer's blocks. A module
may return the sum after its second branch alone, so that there are two gates in it.
"""

import itertools
from collections import OrderedDict

import numpy as np

from common.compare.layers import docs as pages
from common.compare.layers import modulation
from common.compare.layers.layer import Case, size
from common.compare.layers.modulation import FEW, LOOKED_AT, ORDINALS, parted, sample

DOCS = pages.MODULATION
PARTS = (1, 2, 3, 4, 6, 9)  # of the array that holds gates
NEAREST = 4  # arrays that may hold them
INPUTS = 4
ROUNDED = 0.02  # how far from 0 and 1 a solved factor may be
ordered = modulation.ordered
GATES = (("", lambda gate: gate), ("the tanh of ", np.tanh))


def cases(layer):
    """One, two or three of the nearest arrays of the output's shape, those without a gate first."""
    y = layer.output
    near = [x for x in layer.alike()[:INPUTS] if x.spread][::-1]
    if y.size < FEW or len(y.shape) < 2 or not y.spread or y.whole or not near:
        return
    at = np.random.RandomState(0).randint(0, y.size, LOOKED_AT)
    values, target = [sample(x, at) for x in near], sample(y, at)
    wide = (found for found in parted(layer, PARTS, at) if found[0].shape != y.shape)
    for array, parts in itertools.islice(wide, NEAREST):
        for count, (bend, function) in itertools.product((1, 2, 3), GATES):
            for chosen in itertools.combinations(range(len(near)), count):
                terms = _solved([values[n] for n in chosen], function(parts), target)
                if terms is not None:
                    terms = dict(zip(chosen, terms))
                    yield case_of(layer, near, values, terms, array, parts, target, bend)


def case_of(layer, near, values, terms, array, parts, target, bend="", **more):
    """The ``Case`` of a sum, its inputs without a gate first.

    near, values: arrays and their samples. terms: {an input's place there: its term}. more: further
    constants.
    """
    order = sorted(terms, key=lambda n: (terms[n][1] is not None, n))
    found = OrderedDict(terms=tuple(terms[n] for n in order), bend=bend, of=len(parts), **more)
    inputs = [near[n] for n in order] + [array]
    values = [values[n] for n in order]
    return Case(layer, inputs, values=values, y=target, parts=parts, found=found)


def _solved(inputs, gates, target):
    """[(0 or 1, gate or None)] of the inputs, if their sum is the target; else None.

    An input is multiplied by the number plus its gate.
    """
    table = np.stack([x * gate for x in inputs for gate in (1, *gates)], 1)
    factors = np.linalg.lstsq(table, target, rcond=None)[0].reshape(len(inputs), -1)
    rounded = np.rint(factors)
    ones, of = rounded[:, 0], rounded[:, 1:]
    near = np.abs(factors - rounded).max() <= ROUNDED and set(np.unique(rounded)) == {0, 1}
    if not near or not rounded.any(1).all() or not of.any() or of.sum(1).max() > 1:
        return None
    return [(int(one), int(row.argmax()) if row.any() else None) for one, row in zip(ones, of)]


def options(case):
    """The one that was found."""
    yield case.found


def off(case, constants):
    """The distance on a sample."""
    made = summed(case, constants)
    return np.inf if made is None else size(made - case.y)


def summed(case, constants):
    """The sum on a sample; None if the case has other numbers of inputs or parts."""
    if constants["of"] != len(case.parts) or len(constants["terms"]) != len(case.values):
        return None
    gates = dict(GATES)[constants["bend"]](case.parts)
    terms = zip(case.values, constants["terms"])
    return sum(x * (one + (0 if gate is None else gates[gate])) for x, (one, gate) in terms)


def words(constants):
    """The sum in words."""
    terms, of = constants["terms"], constants["of"]
    gates = []
    for place, (one, gate) in zip(ORDINALS if len(terms) > 1 else ("",), terms):
        if gate is not None:
            part = "%s of %d parts of the last" % (ORDINALS[gate], of) if of > 1 else "last"
            plus = "1 + " if one else ""
            gates.append("%s times %s%sthe %s" % (place, plus, constants["bend"], part))
    if len(terms) == 1:
        return "its input" + gates[0]
    return "the sum of %d arrays, the %s" % (len(terms), ", the ".join(gates))
