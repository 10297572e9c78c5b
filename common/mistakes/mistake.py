"""A planted mistake, and the two ways to make one: wrap a module, or patch its source."""

import functools
from collections import namedtuple

from common.system import modules

Mistake = namedtuple("Mistake", "name rung make raises of_squares")
Mistake.__doc__ = """A known mistake.

name: words joined by underscores.
rung: the rung that must name it.
make: takes a correct module and a folder for files, and returns a wrong module.
raises: whether the framework itself may reject it with an error.
of_squares: the rung that must name it where a module computes a variance from the mean of squares,
    if rounding hides it from ``rung`` there; else None.
"""

KNOWN = []  # (function, rung, of_squares, trait) of each function that ``mistake`` decorates


def mistake(rung, *traits, by=None, of_squares=None):
    """Decorate ``make(module)``, which returns a wrapped module with a known mistake.

    rung: the rung that must name it.
    traits: it applies to models with one of these traits, tasks ("classes", or "classes of images")
        or names; without any, to all.
    by: if given, the decorated function is a ``change``, and ``by(module, change)`` makes the
        mistake.
    of_squares: as in ``Mistake``.
    """

    def register(function):
        @functools.wraps(function)
        def make(module):
            return by(module, function) if by else function(module)

        KNOWN.extend((make, rung, of_squares, trait) for trait in traits or ("",))
        return make

    return register


def of_trap(trap):
    """A framework's ``variants.Trap`` as a mistake, which patches the module's source."""

    def make(module, folder):
        return modules.changed(module, trap.patches, folder, trap.name)

    return Mistake(trap.name, trap.rung, make, trap.raises, None)
