"""Packages that an interpreter without them borrows from another one's folder.

A finder at the end of Python's list: the interpreter's own packages come first, and of the folder
only the packages in ``common/check/requirements.txt`` are seen. It imports nothing but Python.
"""

import os
import re
import sys
import typing
from importlib.machinery import PathFinder

FOLDER = "ROSETTA_BORROWED"  # the environment variable with the folder
LIST = os.path.join(os.path.dirname(os.path.dirname(__file__)), "check", "requirements.txt")


def pins():
    """{import name: version} of the packages that may be borrowed."""
    with open(LIST, encoding="utf-8") as file:
        rows = re.findall(r"^([\w-]+)==([\w.]+)", file.read(), re.MULTILINE)
    return {name.replace("-", "_"): version for name, version in rows}


def distributions():
    """The folders that pip makes beside these packages; they have the versions in their names."""
    return ["%s-%s.dist-info" % pin for pin in pins().items()]


class Finder:
    """Finds the packages of one folder that are in a set of names."""

    def __init__(self, folder, names):
        self.folder, self.names = folder, names

    def find_spec(self, name, path=None, target=None):
        """As in ``importlib.abc.MetaPathFinder``; packages find their own submodules."""
        return PathFinder.find_spec(name, [self.folder]) if name in self.names else None


def install():
    """Borrow from the folder that the environment names, if it names one."""
    folder = os.environ.get(FOLDER)
    if folder and not hasattr(typing, "final"):
        typing.final = lambda decorated: decorated  # threadpoolctl asks for it; Python 3.8 has it
    if folder and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder(folder, frozenset(pins())))
