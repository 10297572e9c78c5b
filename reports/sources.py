"""The modules' source, cut into its steps and highlighted."""

import ast
import re
from collections import namedtuple
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import frameworks
from common.host.files import ROOT
from common.proof import contract

Module = namedtuple("Module", "key title path lines parts")
Module.__doc__ = """A module of the Rosetta Stone, as text.

key: what names it in an address.
title: for people.
path: its file, from the project's root on.
lines: its lines.
parts: {name: (first, last)}, numbered from 1: ``head`` and every function of the contract.
"""


def modules(model="cnn"):
    """Every module of a model once, in the registry's order, under its first environment's name."""
    found = {}
    for framework in frameworks.FRAMEWORKS.values():
        path = frameworks.path(framework, model)
        if path in found or not Path(ROOT, path).is_file():
            continue
        text = Path(ROOT, path).read_text(encoding="utf-8")
        # Of Keras the title without its backend: they share the file.
        title = re.sub(r"^(Keras \d) on .*", r"\1", framework.title)
        lines = text.splitlines()
        found[path] = Module(framework.name, title, path, lines, parts(text, lines))
    return list(found.values())


def parts(text, lines):
    """Where the head and each function of the contract stand.

    A function's helpers, which stand between it and the one before, belong to it: a reader needs
    them there.
    """
    found, first = {}, 1
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not found:
            found["head"] = (1, node.lineno - 1)
            first = node.lineno
        if isinstance(node, ast.FunctionDef) and node.name in contract.SIGNATURES:
            found[node.name] = (first, node.end_lineno)
            first = node.end_lineno + 1
    return {name: _trimmed(lines, *span) for name, span in found.items()}


def _trimmed(lines, first, last):
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


def highlighted(module):
    """The module's lines as HTML, each whole in itself."""
    formatter = HtmlFormatter(nowrap=True)
    code = highlight("\n".join(module.lines) + "\n", PythonLexer(stripnl=False), formatter)
    return code.split("\n")[: len(module.lines)]


def styles():
    """The style sheets of the highlighting, one for light and one for dark."""
    light = HtmlFormatter(style="xcode").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return light, dark
