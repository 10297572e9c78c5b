"""The Rosetta Stone: one folder per framework, found by its ``facts.py``.

This file imports no framework, only the facts. ``common/system/modules.py`` imports modules.
"""

import importlib
import os
from collections import OrderedDict


def _discovered():
    """{folder: ``facts.Framework``}: the reference, then maintained ones, then others, by name."""
    root = os.path.dirname(os.path.abspath(__file__))
    folders = {
        folder: importlib.import_module("frameworks.%s.facts" % folder).FRAMEWORK
        for folder in os.listdir(root)
        if os.path.isfile(os.path.join(root, folder, "facts.py"))
    }

    def position(folder):
        return not folders[folder].reference, not folders[folder].maintained, folder

    return OrderedDict((folder, folders[folder]) for folder in sorted(folders, key=position))


def _environments():
    """{name: ``facts.Environment``} of all folders."""
    return OrderedDict(
        (environment.name, environment._replace(folder=folder, endings=framework.endings))
        for folder, framework in FRAMEWORKS.items()
        for environment in framework.environments
    )


FRAMEWORKS = _discovered()
_ALL = _environments()
# {environment: the one for its workers, which share a batch: see FOLDER/workers.py}
WORKERS = OrderedDict((env.workers_of, name) for name, env in _ALL.items() if env.workers_of)
# The environments that exist only for workers, and all others.
FOR_WORKERS = OrderedDict((n, env) for n, env in _ALL.items() if env.workers_of not in ("", n))
ENVIRONMENTS = OrderedDict((n, env) for n, env in _ALL.items() if n not in FOR_WORKERS)
(REFERENCE,) = (folder for folder, framework in FRAMEWORKS.items() if framework.reference)


def for_gpu(name):
    """The name of the environment that runs ``name``'s modules on a GPU; None if there is none."""
    return next((other for other, env in ENVIRONMENTS.items() if env.gpu_of == name), None)


def path(framework, file="cnn"):
    """The path of a module in ``framework``'s folder, relative to the project's root."""
    return "frameworks/%s/%s%s.py" % (framework.folder, file, framework.variant)
