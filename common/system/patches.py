"""Patch Python source by its tokens, so that comments, docstrings and layout do not matter.

A patch's old code may begin and end anywhere, even within a call. ``tokenize`` refuses such
fragments, and its tokens for f-strings depend on Python's version, so this module has its own.
"""

import ast
import functools
import os
import re
from collections import Counter, OrderedDict, namedtuple

_TOKEN = re.compile(
    r"""
    (?P<skipped> \#[^\n]* | \\?\s+ )
  | (?P<string> [rRbBuUfF]{0,2}
        (?: \"{3} (?: \\. | [^\\] )*? \"{3} | " (?: \\. | [^"\\\n] )* "
          | '{3} (?: \\. | [^\\] )*? '{3} | ' (?: \\. | [^'\\\n] )* ' ) )
  | (?P<number> \.?\d (?: [eE][+-]?(?=\d) | [\w.] )* )
  | (?P<name> \w+ )
  | (?P<operator> \*\*=? | //=? | <<=? | >>=? | -> | [-+*/%&|^@=!<>:]= | \.\.\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING = ("(", "[", "{")
_CLOSING = (")", "]", "}")

Token = namedtuple("Token", "key start end statement indent")
Token.__doc__ = """A token of a text.

key: its text, normalised for strings and numbers.
start, end: its position in the text.
statement: the number of its statement.
indent: the statement's indentation.
"""


class PatchError(ValueError):
    """A patch does not fit its module."""


def by_file(patches, path):
    """{path: its patches}, from a module's patches; the module itself, at ``path``, comes last."""
    files = {}
    for old, new, *beside in patches:
        file = os.path.join(os.path.dirname(path), beside[0] + ".py") if beside else path
        files.setdefault(file, []).append((old, new))
    return OrderedDict(sorted(files.items(), key=lambda item: item[0] == path))


def patched(source, changes, what):
    """``source`` after each of ``changes`` in turn.

    changes: pairs of old and new code. The old code must occur exactly once. Further lines of the
        new code get the indentation of the statement in which the old code begins.
    what: the module and the patch, for the ``PatchError`` if it does not fit.
    """
    for old, new in changes:
        code, fragment = _code(source), [token.key for token in tokens(old)]
        keys, n = [token.key for token in code], len(fragment)
        places = [i for i in range(len(keys) - n + 1) if n and keys[i : i + n] == fragment]
        if len(places) != 1:
            raise PatchError("%s: %r is in %d places, not in one" % (what, old, len(places)))
        first, last = code[places[0]], code[places[0] + n - 1]
        new = re.sub(r"\n(?=[^\n])", "\n" + first.indent, new)
        source = source[: first.start] + new + source[last.end :]
    return source


@functools.lru_cache(maxsize=16)
def _code(source):
    """The tokens of a module, without docstrings."""
    all_tokens = tokens(source)
    sizes = Counter(token.statement for token in all_tokens)
    return [t for t in all_tokens if sizes[t.statement] > 1 or t.key[-1] not in "'\""]


def tokens(text):
    """The tokens of a module or of a fragment, without comments.

    Every closing bracket has a comma before it; if there is none, an empty token is added.
    """
    read, depth, statement, indent, new_line = [], 0, 0, "", True
    for match in _TOKEN.finditer(text):
        string = match.group()
        if match.lastgroup == "skipped":
            new_line = new_line or "\n" in string and string[0] != "\\"
            continue
        if new_line and not depth:
            statement += 1
            indent = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        new_line = False
        if string in _CLOSING and read and read[-1].key not in (",",) + _OPENING:
            end = read[-1].end
            read.append(Token(",", end, end, statement, indent))
        depth = max(0, depth + (string in _OPENING) - (string in _CLOSING))
        key = _value(string) if match.lastgroup in ("string", "number") else string
        read.append(Token(key, match.start(), match.end(), statement, indent))
    return read


def _value(literal):
    """A string or a number in normal form; an f-string as it is written."""
    try:
        return repr(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return literal
