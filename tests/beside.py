"""Optional files of frameworks: a test that needs one is skipped if it is missing."""

import importlib
import os

import pytest

from common.system import modules
from common.system.files import ROOT


def need(framework, file):
    """The name of the module ``file`` in a framework's folder; the test is skipped without it."""
    folder = modules.find(framework).folder
    path = "frameworks/%s/%s.py" % (folder, file)
    if not os.path.isfile(os.path.join(ROOT, path)):
        pytest.skip("not there yet: " + path)
    return "frameworks.%s.%s" % (folder, file)


def load(framework, file):
    """Import that module."""
    return importlib.import_module(need(framework, file))
