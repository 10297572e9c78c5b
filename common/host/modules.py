"""The frameworks' modules: found by name, and imported."""

import hashlib
import importlib
import os
import sys

import frameworks
from common.host.errors import InputError
from common.host.files import ROOT


def find(name, model="cnn"):
    """The facts of the framework called ``name``; InputError lists the known ones.

    InputError, too, where the framework has no module for the model; it names those that have.
    """
    if name not in frameworks.FRAMEWORKS:
        known = ", ".join(frameworks.FRAMEWORKS)
        raise InputError("unknown framework %r; known: %s" % (name, known))
    if not has(name, model):
        those = ", ".join(other for other in frameworks.FRAMEWORKS if has(other, model))
        raise InputError("%s has no model %r; it is in %s" % (name, model, those or "none"))
    return frameworks.FRAMEWORKS[name]


def has(name, model):
    """Whether the framework has a module for the model."""
    path = frameworks.path(frameworks.FRAMEWORKS[name], model)
    return os.path.isfile(os.path.join(ROOT, path))


def load(name, model="cnn"):
    """Import and return the module with the six steps of ``name`` for ``model``."""
    framework = find(name, model)
    module = frameworks.path(framework, model)[: -len(".py")].replace("/", ".")
    if any(os.environ.get(name) != value for name, value in framework.environ.items()):
        # Read when the module is imported, so one imported for another framework will not do.
        os.environ.update(framework.environ)
        for known in list(sys.modules):
            if known.startswith("frameworks.%s." % framework.folder):
                del sys.modules[known]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            "%s cannot be imported here (%s); run it with: tox run -e %s"
            % (framework.title, error, name)
        )


def source_sha256(module):
    """sha256 of the module's source file."""
    with open(module.__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
