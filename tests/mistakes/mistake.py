"""What a planted mistake is, and how a module is changed to make it."""

import importlib.util
import os
from collections import namedtuple

Mistake = namedtuple("Mistake", "name rung make only model raises")
Mistake.__doc__ = """A known mistake.

name: in words, joined by underscores.
rung: the one that names it.
make: takes a right module, and a folder for files, and returns a wrong one.
only: the environments that it is made in, where several share a module; None: all of them.
model: the one whose module it is a change to; None: any.
raises: whether the framework refuses it with an error, which names it.
"""


def changed(name, rung, *changes, only=None, model="cnn", raises=False):
    """A mistake that stands in the module's own source: each (old, new) text is put in its place.

    ValueError where a module no longer has the text, which must be there once.
    """

    def make(module, folder):
        with open(module.__file__) as file:
            source = file.read()
        for old, new in changes:
            if source.count(old) != 1:
                raise ValueError(
                    "%s: %r stands %d times in %s, not once"
                    % (name, old, source.count(old), module.__file__)
                )
            source = source.replace(old, new)
        # A file of its own: TensorFlow's AutoGraph reads a function's source by the file's name.
        path = os.path.join(str(folder), name + ".py")
        with open(path, "w") as file:
            file.write(source)
        spec = importlib.util.spec_from_file_location("mistaken_" + name, path)
        wrong = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(wrong)
        return wrong

    make.changes = changes  # the page shows them
    return Mistake(name, rung, make, only, model, raises)
