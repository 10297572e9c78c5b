"""The modules' source, cut into its steps and highlighted."""

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from markupsafe import escape
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

import frameworks
from common.proof import contract
from common.system.files import ROOT

# Files of a framework's folder that belong to no single model.
BESIDE = ("native", "export", "record", "profile", "workers")
FUNCTIONS = set(contract.SIGNATURES) | {"save", "restore", "export", "record", "profile"}


@dataclass(frozen=True, eq=False)  # one object per file, so that what is read of it can be kept
class Module:
    """A module of the Rosetta Stone, as text.

    key: its name in an address.
    title: for people.
    path: its file, relative to the project's root.
    lines: its lines.
    steps: {name: (first, last)}, line numbers from 1 of its ``head`` and each of ``FUNCTIONS``.
    imports: {name: the ``Module`` of the same folder that it takes the name from, or that it is}.
    """

    key: str
    title: str
    path: str
    lines: list
    steps: dict
    imports: dict = field(default_factory=dict)


def modules(model="cnn"):
    """The modules of a model, or files of ``BESIDE``, in the registry's order.

    If several environments share a file, the first one names it.
    """
    by_path = {}
    for environment in frameworks.ENVIRONMENTS.values():
        path = frameworks.path(environment, model)
        if path in by_path or not Path(ROOT, path).is_file():
            continue
        title = environment.title.split(" on ")[0]  # its backends share the file
        by_path[path] = _module(environment.name, title, path)
    return list(by_path.values())


@lru_cache(maxsize=None)
def _module(key, title, path):
    text = Path(ROOT, path).read_text(encoding="utf-8")
    lines = text.splitlines()
    folder = Path(path).parent
    imports = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            source = Path(*node.module.split("."))
            for alias in node.names:
                other = source / alias.name if source == folder else source
                if other.parent == folder:
                    imports[alias.name] = _module(key, title, "%s.py" % other)
    return Module(key, title, path, lines, steps(text, lines), imports)


def steps(text, lines):
    """{name: (first, last)} of a module's head and functions.

    Helpers belong to the function that follows them: a reader needs them there.
    """
    spans, first = {}, 1
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not spans:
            spans["head"] = (1, node.lineno - 1)
            first = node.lineno
        if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
            spans[node.name] = (first, node.end_lineno)
            first = node.end_lineno + 1
    spans.setdefault("head", (1, len(lines)))
    return {name: _trimmed(lines, *span) for name, span in spans.items()}


def _trimmed(lines, first, last):
    """A span without blank lines at its ends."""
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return first, last


# Pygments' tokens and the classes of their spans. Few have a colour, so that the words are read.
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
    """For each line of a module its coloured spans, [(start, end, class)]."""
    return _coloured("\n".join(module.lines) + "\n", len(module.lines))


@lru_cache(maxsize=None)
def _coloured(text, lines):
    spans, line, column = [[] for _ in range(lines)], 0, 0
    for token, value in PythonLexer(stripnl=False).get_tokens(text):
        kind = next((name for above, name in CLASSES if token in above), "")
        for number, text_part in enumerate(value.split("\n")):
            if number:
                line, column = line + 1, 0
            if kind and text_part.strip():
                runs, end = spans[line], column + len(text_part)
                if runs and runs[-1][1:] == (column, kind):
                    runs[-1] = (runs[-1][0], end, kind)
                else:
                    runs.append((column, end, kind))
            column += len(text_part)
    return spans


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
    """The module's lines as HTML; tags do not span lines."""
    colours = coloured(module)
    return [html(line, spans) for line, spans in zip(module.lines, colours)]
