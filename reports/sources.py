"""The modules' source, cut into its steps and highlighted."""

import ast
from collections import namedtuple
from functools import lru_cache
from pathlib import Path

from markupsafe import escape
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

import frameworks
from common.proof import contract
from common.system.files import ROOT

# Files in a framework's folder that are not of one model.
BESIDE = ("native", "export", "record", "profile", "workers")
FUNCTIONS = set(contract.SIGNATURES) | {"save", "restore", "export", "record", "profile"}

Module = namedtuple("Module", "key title path lines parts")
Module.__doc__ = """A module of the Rosetta Stone, as text.

key: what names it in an address.
title: for people.
path: its file, from the project's root on.
lines: its lines.
parts: {name: (first, last)}, numbered from 1: ``head`` and every one of ``FUNCTIONS``.
"""


def modules(model="cnn"):
    """Every module of a model, or of ``BESIDE``, in the registry's order, under its first name."""
    found = {}
    for framework in frameworks.ENVIRONMENTS.values():
        path = frameworks.path(framework, model)
        if path in found or not Path(ROOT, path).is_file():
            continue
        text = Path(ROOT, path).read_text(encoding="utf-8")
        title = framework.title.split(" on ")[0]  # its backends share the file
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
        if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
            found[node.name] = (first, node.end_lineno)
            first = node.end_lineno + 1
    found.setdefault("head", (1, len(lines)))
    return {name: _trimmed(lines, *span) for name, span in found.items()}


def _trimmed(lines, first, last):
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


# What is coloured: little, so that the words are read. Classes of spans, by Pygments' tokens.
CLASSES = (
    (Comment, "c"),
    (String.Doc, "d"),
    (String, "s"),
    (Number, "m"),
    (Keyword.Constant, "m"),
    (Operator.Word, "k"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
)


def coloured(module):
    """For each line of a module [(start, end, class)], of what has a colour."""
    return _coloured("\n".join(module.lines) + "\n", len(module.lines))


@lru_cache(maxsize=None)
def _coloured(text, lines):
    found, line, column = [[] for _ in range(lines)], 0, 0
    for token, value in PythonLexer(stripnl=False).get_tokens(text):
        kind = next((name for above, name in CLASSES if token in above), "")
        for number, part in enumerate(value.split("\n")):
            if number:
                line, column = line + 1, 0
            if kind and part.strip():
                runs, end = found[line], column + len(part)
                if runs and runs[-1][1:] == (column, kind):
                    runs[-1] = (runs[-1][0], end, kind)
                else:
                    runs.append((column, end, kind))
            column += len(part)
    return found


def html(text, spans, first=0, last=None):
    """A line's characters from ``first`` to ``last`` as HTML, coloured."""
    last = len(text) if last is None else last
    made, reached = [], first
    for start, end, kind in spans:
        start, end = max(start, first), min(end, last)
        if start < end:
            made += [escape(text[reached:start]), '<i class="%s">' % kind, escape(text[start:end])]
            made.append("</i>")
            reached = end
    return "".join(map(str, made)) + str(escape(text[reached:last]))


def highlighted(module):
    """The module's lines as HTML, each whole in itself."""
    colours = coloured(module)
    return [html(line, spans) for line, spans in zip(module.lines, colours)]
