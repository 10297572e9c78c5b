"""Descriptions of the networks to build, train and prove.

Network N is ``N.py`` in this package and ``N.py`` in each framework's folder. Nothing else knows it
by name: this package finds every ``Model`` that its files define, including other sizes. A network
with mistakes or causes of its own is a folder. ``N/__init__.py`` is the description,
``N/mistakes.py`` has mistakes to plant (like ``common/mistakes``), ``N/causes.py`` has causes for a
challenge to try (see ``common/challenge/hypotheses.py``), and ``N/masks.py``, which dropout
requires, reads masks (see ``common/proof/masks.py``).
"""

import importlib
import os
import pkgutil
from collections import OrderedDict

from common.networks.model import Model
from common.system.errors import InputError


def _models():
    for _, name, _ in pkgutil.iter_modules(__path__):
        module = importlib.import_module(__name__ + "." + name)
        for value in vars(module).values():
            if isinstance(value, Model):
                yield value


# MODELS leaves out other sizes.
ALL = OrderedDict(
    (model.name, model) for model in sorted(_models(), key=lambda m: (m.size_of != "", m.order))
)
MODELS = OrderedDict((name, model) for name, model in ALL.items() if not model.size_of)


def find(name):
    """The model called ``name``; otherwise an InputError that lists the known ones."""
    if name not in ALL:
        raise InputError("unknown model %r; known: %s" % (name, ", ".join(ALL)))
    return ALL[name]


def file(name):
    """The name of a model's module in each framework's folder; other names are returned as is."""
    return ALL[name].file if name in ALL else name


def part(name, kind):
    """A model's own module ``kind``: "causes", "masks" or "mistakes"; None if it has none."""
    if not os.path.isfile(os.path.join(__path__[0], file(name), kind + ".py")):
        return None
    return importlib.import_module("%s.%s.%s" % (__name__, file(name), kind))
