"""What a planted mistake is, and the two ways to make it: wrap a module, or change its source."""

import functools
from collections import namedtuple

from common.system import modules

Mistake = namedtuple("Mistake", "name rung make raises")
Mistake.__doc__ = """A known mistake.

name: words joined by underscores.
rung: the one that must name it.
make: takes a right module and a folder for files, and returns a wrong module.
raises: whether the framework itself refuses it with an error.
"""

KNOWN = []  # (function, rung, trait) of each function that ``mistake`` decorates


def mistake(rung, *traits, by=None):
    """Decorator of ``make(module)``, which returns a wrapped module that makes a known mistake.

    rung: the one that must name it.
    traits: it applies to models with one of these traits, tasks or names; none: to all models.
    by: decorates ``change`` instead, and ``by(module, change)`` makes the mistake.
    """

    def register(function):
        @functools.wraps(function)
        def make(module):
            return by(module, function) if by else function(module)

        KNOWN.extend((make, rung, trait) for trait in traits or ("",))
        return make

    return register


def of_trap(trap):
    """A ``variants.Trap`` of a framework as a mistake, which changes the module's own source."""

    def make(module, folder):
        return modules.changed(module, trap.patches, folder, trap.name)

    return Mistake(trap.name, trap.rung, make, trap.raises)
