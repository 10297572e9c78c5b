"""The Rosetta Stone: one folder per framework, and here the facts about each.

This module never imports a framework; ``load_module`` imports the one it is asked for.
"""

import importlib
import os
import sys
from collections import OrderedDict, namedtuple

from common.errors import InputError

Framework = namedtuple("Framework", "name title module package python debian environ")
Framework.__doc__ = """What is known of a framework before it is imported.

name: the name on the command line and of the tox environment.
title: the name its makers use.
module: the Python module with the six steps.
package: the import name of the library, whose ``__version__`` is reported.
python: the interpreter that it is run on, as ``tox.ini`` has it.
debian: system packages it needs beyond pip.
environ: environment variables that must be set before it is imported.
"""


def _framework(name, title, package, python="3.11", module=None, debian=(), environ=None):
    module = module or "frameworks.%s.cnn" % name
    return name, Framework(name, title, module, package, python, tuple(debian), environ or {})


FRAMEWORKS = OrderedDict(
    [
        _framework("numpy", "NumPy, from scratch", "numpy", environ={"ARRAY_MODULE": "numpy"}),
        _framework(
            "cupy",
            "CuPy, from scratch",
            "cupy",
            module="frameworks.numpy.cnn",
            environ={"ARRAY_MODULE": "cupy"},
        ),
        _framework("pytorch", "PyTorch", "torch"),
        _framework("tensorflow", "TensorFlow", "tensorflow"),
    ]
)


def find(name):
    """The facts of the framework called ``name``; InputError lists the known ones."""
    if name not in FRAMEWORKS:
        raise InputError("unknown framework %r; known: %s" % (name, ", ".join(FRAMEWORKS)))
    return FRAMEWORKS[name]


def load_module(name):
    """Import and return the module with the six steps of ``name``."""
    framework = find(name)
    if any(os.environ.get(name) != value for name, value in framework.environ.items()):
        # Read when the module is imported, so one imported for another framework will not do.
        os.environ.update(framework.environ)
        sys.modules.pop(framework.module, None)
    try:
        return importlib.import_module(framework.module)
    except ImportError as error:
        raise InputError(
            "%s cannot be imported here (%s); run it with: tox run -e %s"
            % (framework.title, error, name)
        )
