"""The Rosetta Stone: one folder per framework, found by its ``facts.py``.

This file imports no framework, and nothing of the project but the facts.
``common/system/modules.py`` imports the module that it is asked for.
"""

import importlib
import os
from collections import OrderedDict


def _discovered():
    """{folder: ``facts.Framework``}: the reference, maintained frameworks, the others; by name."""
    root = os.path.dirname(os.path.abspath(__file__))
    found = {
        folder: importlib.import_module("frameworks.%s.facts" % folder).FRAMEWORK
        for folder in os.listdir(root)
        if os.path.isfile(os.path.join(root, folder, "facts.py"))
    }

    def position(folder):
        return not found[folder].reference, not found[folder].maintained, folder

    return OrderedDict((folder, found[folder]) for folder in sorted(found, key=position))


def _environments():
    """{name: ``facts.Environment``} of all folders."""
    return OrderedDict(
        (environment.name, environment._replace(folder=folder, endings=framework.endings))
        for folder, framework in FRAMEWORKS.items()
        for environment in framework.environments
    )


FRAMEWORKS = _discovered()
_ALL = _environments()
# {environment: the one in which several of its workers share a batch, see FOLDER/workers.py}
WORKERS = OrderedDict((one.workers_of, name) for name, one in _ALL.items() if one.workers_of)
# Environments that exist only for workers, and all others.
FOR_WORKERS = OrderedDict((n, one) for n, one in _ALL.items() if one.workers_of not in ("", n))
ENVIRONMENTS = OrderedDict((n, one) for n, one in _ALL.items() if n not in FOR_WORKERS)
(REFERENCE,) = (folder for folder, framework in FRAMEWORKS.items() if framework.reference)


def for_gpu(name):
    """The name of the environment that runs ``name``'s module on a GPU; None if there is none."""
    return next((other for other, one in ENVIRONMENTS.items() if one.gpu_of == name), None)


def path(framework, file="cnn"):
    """The path of the module of this name in ``framework``'s folder, from the project's root."""
    return "frameworks/%s/%s%s.py" % (framework.folder, file, framework.variant)
