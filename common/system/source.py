"""Python source reduced to its code, without comments, docstrings and layout."""

import ast
import functools
import hashlib
import io
import os
import re
import tokenize

from common.system.files import ROOT

_SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
_MARKS = _NEWLINE, _INDENT, _DEDENT = "<newline>", "<indent>", "<dedent>"
_FSTRING_START = getattr(tokenize, "FSTRING_START", None)  # since Python 3.12
_FSTRING_END = getattr(tokenize, "FSTRING_END", None)


def code(text):
    """The tokens of Python source as strings, the same in every version of Python.

    Comments, blank lines, layout, docstrings and texts assigned to ``__doc__`` are left out.
    """
    tokens = []
    for kind, string in _whole_fstrings(text):
        if kind == tokenize.NEWLINE:
            if _is_text(tokens) and (len(tokens) == 1 or tokens[-2] in _MARKS):
                del tokens[-1]  # a docstring
            elif _is_text(tokens) and tokens[-3:-1] == ["__doc__", "="]:
                tokens[-1] = '""'
            if tokens and tokens[-1] not in _MARKS:
                tokens.append(_NEWLINE)
        else:
            tokens.append({tokenize.INDENT: _INDENT, tokenize.DEDENT: _DEDENT}.get(kind, string))
    return tokens


def _is_text(tokens):
    """Whether the last token is a string, but not an f-string."""
    return bool(tokens) and re.match(r"[rbuRBU]*['\"]", tokens[-1]) is not None


def _whole_fstrings(text):
    """(type, string) of each relevant token; an f-string is one token, as before Python 3.12."""
    lines = text.splitlines(True)
    depth, start = 0, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == _FSTRING_START:
            start = start if depth else token.start
            depth += 1
        elif token.type == _FSTRING_END:
            depth -= 1
            if not depth:
                yield tokenize.STRING, _between(lines, start, token.end)
        elif not depth and token.type not in _SKIPPED:
            yield token.type, token.string


def _between(lines, start, end):
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right]
    whole = lines[first - 1 : last]
    return whole[0][left:] + "".join(whole[1:-1]) + whole[-1][:right]


def read(path):
    """The text of a file. path: absolute, or relative to the project's root."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def code_sha256(paths):
    """A sha256 of the code in some of the project's files, in any order."""
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        digest.update(repr((path, _code_sha256(read(path)))).encode())
    return digest.hexdigest()


def texts_sha256(paths):
    """A sha256 of the code in these files, in this order, wherever they are."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(_code_sha256(read(path)).encode())
    return digest.hexdigest()


@functools.lru_cache(maxsize=None)
def _code_sha256(text):
    return hashlib.sha256(repr(code(text)).encode()).hexdigest()


def imported(paths, within):
    """These files of the project, and those that they import, directly or indirectly.

    within: the folders whose files count, such as ``"common/proof"``.
    """
    reached, left = set(), list(paths)
    while left:
        path = left.pop()
        if path not in reached:
            reached.add(path)
            left += [file for file in _imports(path) if file.startswith(tuple(within))]
    return sorted(reached)


def _imports(path):
    """The project's files that a file may import."""
    files = imports(read(path))
    return [file for file in files if os.path.isfile(os.path.join(ROOT, file))]


@functools.lru_cache(maxsize=None)
def imports(text):
    """The files that imports may mean: an imported name may be a module, or defined in one."""
    files = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + ["%s.%s" % (node.module, name.name) for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:
            continue
        for name in names:
            place = name.replace(".", "/")
            files += [place + ".py", place + "/__init__.py"]
    return files
