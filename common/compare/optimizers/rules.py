"""The first step of optimisers: a direction computed from the gradient, times the rate.

Weight decay is fitted separately. If several optimisers take the same first step, the rule lists
all of them; a second step is needed to tell them apart.
"""

from collections import namedtuple

import numpy as np

Rule = namedtuple("Rule", "name direction epsilon ratios")
Rule.__doc__ = """A first step.

direction: of a gradient and its weight. epsilon: its constant, or None.
ratios: [(optimiser, number)]: with that optimiser the fitted factor is its rate times the number.
"""
EPSILONS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-3, 1e-10, 1e-12)
DECAYS = (0.1, 0.01, 0.001, 1e-4, 0.05, 5e-4)
DESCENTS = [("SGD", 1.0), ("SGD with Nesterov momentum 0.9", 1.9), ("SGD with dampening 0.9", 0.1)]
ADAMS = [
    ("Adam", 1.0),
    ("Adam without bias correction", 0.1 / 0.001**0.5),
    ("RMSprop, decay 0.99", 10.0),
    ("RMSprop, decay 0.9", 10.0**0.5),
]


def every():
    """Yield the rules, simple ones first."""
    yield Rule("SGD", lambda g, w: g, None, DESCENTS)
    for epsilon in EPSILONS:
        yield Rule("Adam", _over_root(epsilon), epsilon, ADAMS)
    for decay in DECAYS:
        name = "Adam with %g w added to the gradient" % decay
        yield Rule("decayed Adam", _decayed(decay), 1e-8, [(name, 1.0)])
    for epsilon in EPSILONS[:5]:
        yield Rule(
            "inside", _inside_root(epsilon), epsilon, [("Adam, epsilon inside the root", 1.0)]
        )
    yield Rule("sign", lambda g, w: np.sign(g), None, [("Lion, or the gradient's sign", 1.0)])
    for start in (0.1, 1.0):
        yield Rule(
            "Adagrad", _adagrad(start), None, [("Adagrad, its sums beginning at %g" % start, 1.0)]
        )


def _decayed(decay):
    def direction(g, w):
        g = g + decay * w
        return g / (np.abs(g) + 1e-8)

    return direction


def _over_root(epsilon):
    return lambda g, w: g / (np.abs(g) + epsilon)


def _inside_root(epsilon):
    return lambda g, w: g / np.sqrt(g**2 + epsilon)


def _adagrad(start):
    return lambda g, w: g / np.sqrt(g**2 + start)
