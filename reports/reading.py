"""Reads modules: which of their lines show which concept.

A module is cut into units: a statement, or an element of a call, list or dict that has lines of
its own. ``frameworks/X/page.py`` names the code that shows a concept as fragments, which are
compared token by token: comments, spaces, quotes and line breaks do not matter. A match extends
over the calls, indices and attributes that follow it. ``def NAME`` takes a whole function beside
the six steps, which the page folds. If a unit shows several concepts, as in
``F.relu(F.max_pooling_2d(self.conv2(x), 2))``, each owns its match without the matches inside it.
"""

import ast
import importlib
import re
from bisect import bisect_right
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from common.networks import MODELS
from common.proof import contract
from common.system import patches
from common.system.files import ROOT
from reports.concepts import PHRASES, REST, STEPS, kinds, rows, split, steps

BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
FIRST = "cnn"  # the network that every framework has
ALONE = "not-in-force"  # a unit that names settings without effect shows none of them

Token = namedtuple("Token", "text start end")  # start, end: (line, column)
Span = namedtuple("Span", "key start end")  # of a concept's match; end is exclusive

Piece = namedtuple("Piece", "module unit step lines owned shared")
Piece.__doc__ = """Where a module shows a concept.

module: the ``Module`` whose lines these are: itself, or one that it imports them from.
step: the step in which they are.
lines: numbers of the lines, comments above them included.
owned: {line: [(start, end)]}, the columns that are this concept's own.
shared: whether the same lines show others too.
"""


@dataclass(eq=False)
class Unit:
    """Some lines that are read as one.

    lines: their numbers; those of a call around its elements have a gap.
    last: the last line of the whole statement or element.
    around: the unit that contains it, or None.
    helpers: names of the functions around it that are not the contract's, the outermost first.
    head: whether it is the head of a function or class, which shows nothing itself.
    """

    lines: tuple
    last: int
    around: "Unit"
    helpers: tuple
    head: bool = False
    helper: str = None  # the one of ``helpers`` that belongs to a concept
    prose: bool = False  # whether it is a field of the docstring
    imports: bool = False
    spans: list = field(default_factory=list)


def tokens(text):
    """The tokens of some code, without comments and layout."""
    starts = [0] + [match.end() for match in re.finditer("\n", text)]

    def place(offset):
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1]

    return [
        Token(token.key, place(token.start), place(token.end)) for token in patches.tokens(text)
    ]


def fragment(text):
    """The texts of a fragment's tokens."""
    return [token.key for token in patches.tokens(text)]


def matches(code, wanted):
    """[(start, end)] of each place in the tokens ``code`` that has those of a fragment."""
    texts, spans, first = [token.text for token in code], [], 0
    while first <= len(texts) - len(wanted):
        if texts[first : first + len(wanted)] == wanted:
            end = _extended(texts, first, first + len(wanted))
            spans.append((code[first].start, code[end - 1].end))
            first = end if len(wanted) == 1 else first + len(wanted)
        else:
            first += 1
    return spans


def _extended(texts, first, end):
    """The end of a match with the brackets that it opens, and the calls that follow."""
    depth = sum(BRACKETS.get(text, 0) for text in texts[first:end])
    while end < len(texts) and (depth > 0 or texts[end] in ("(", "[", ".")):
        depth += BRACKETS.get(texts[end], 0)
        end += 2 if texts[end] == "." and depth == 0 else 1
    return min(end, len(texts))


class _Cutter:
    """Cuts a module's tree into units."""

    def __init__(self, lines, comments):
        self.lines, self.comments, self.units = lines, comments, []

    def add(self, numbers, last, around, helpers, head=False):
        unit = Unit(tuple(numbers), last, around, helpers, head)
        self.units.append(unit)
        return unit

    def element(self, node, last, around, helpers):
        """A statement or an element: one unit, or one around those that it contains."""
        inside = {}
        for child, end in _elements(node):
            own_line = not self.lines[child.lineno - 1][: child.col_offset].strip()
            if node.lineno < child.lineno and own_line:
                inside.setdefault(child.lineno, (child, end))
        spans, reached = [], 0
        for start, (child, end) in sorted(inside.items()):
            if start > reached:
                spans.append((child, end))
                reached = end
        covered = {n for child, end in spans for n in range(child.lineno, end + 1)}
        numbers = [n for n in range(node.lineno, last + 1) if n not in covered]
        unit = self.add(numbers, last, around, helpers)
        for child, end in spans:
            self.element(child, end, unit, helpers)
        return unit

    def statement(self, node, around=None, helpers=()):
        bodies = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
        bodies = [body for body in bodies if isinstance(body, list) and body]
        if not bodies:
            unit = self.element(node, node.end_lineno, around, helpers)
            unit.imports = isinstance(node, (ast.Import, ast.ImportFrom))
            return
        first = node.lineno
        if isinstance(node, ast.FunctionDef) and node.name not in contract.SIGNATURES:
            helpers += (node.name,)
        for decorator in getattr(node, "decorator_list", []):
            self.element(decorator, decorator.end_lineno, around, helpers)
        named = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        last = head_end = self.before(bodies[0][0].lineno, first)
        if named and ast.get_docstring(node):
            docstring, *bodies[0] = bodies[0]
            last = docstring.end_lineno
            if bodies[0]:
                last = self.before(bodies[0][0].lineno, last)
        unit = self.add(range(first, last + 1), head_end, around, helpers, named)
        for body in bodies:
            between = range(last + 1, body[0].lineno) if body else ()
            words = [n for n in between if self.code(n)]  # else:, finally:
            if words:
                self.add(words, words[-1], unit, helpers)
            for each in body:
                self.statement(each, unit, helpers)
            last = body[-1].end_lineno if body else last

    def before(self, line, first):
        """The last line before ``line`` that is not blank and no comment, from ``first`` on."""
        line -= 1
        while line > first and not self.code(line):
            line -= 1
        return line

    def code(self, number):
        return self.lines[number - 1].strip() and number not in self.comments


def _elements(node):
    """(node, its last line) of what may have lines of its own in calls, lists, tuples and dicts."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            yield from ((child, child.end_lineno) for child in each.args + each.keywords)
        elif isinstance(each, (ast.List, ast.Tuple)):
            yield from ((child, child.end_lineno) for child in each.elts)
        elif isinstance(each, ast.Dict):
            for key, value in zip(each.keys, each.values):
                yield key or value, value.end_lineno


class Table:
    """A framework's ``page.py``: its entries for one network's rows, and for the phrases.

    An entry is a fragment of code or several; one for rows may be for several rows. An entry for a
    kind of layers, as ``conv``, has the code of all its rows, in the order of the source; in a
    fragment ``{}`` stands for a row's number. ``()``: needs no code in this framework.

    rows, unsaid: those of the network, and those of the CNN that hold for it, too.
    own: the entries of the network itself. That each is found is tested.
    """

    def __init__(self, path, network, rows, phrases, unsaid="", networks=None):
        self.path, self.network = path, network
        self.phrases = {name: _several(said) for name, said in phrases.items()}
        shared, own, self.networks = _entries(rows), {}, set()
        for names, said in (networks or {}).items():
            self.networks.update(names.split())
            if network in names.split():
                own.update(_entries(said))
        self.own = {*shared, *own, *unsaid.split()} if network == FIRST else set(own)
        self.unsaid = {key for key, said in own.items() if not said}
        self.unsaid |= set(unsaid.split()) - set(own)
        self.rows = {key: said for key, said in {**shared, **own}.items() if said}

    def unknown(self):
        """Entries for rows, phrases and networks that do not exist."""
        known = {*steps(self.network), *kinds(self.network)}
        stray = set(self.phrases) - {phrase.name for phrase in PHRASES}
        return sorted((self.own - known) | stray | (self.networks - set(MODELS)))


def _entries(said):
    """{row: its fragments} of a table's entries, some of which are for several rows."""
    return {key: _several(texts) for keys, texts in said.items() for key in keys.split()}


@lru_cache(maxsize=None)
def table(module, network=FIRST):
    """A network's ``Table``, from the ``page.py`` beside a module, or from its variant's."""
    path = Path(module.path)
    variant = path.stem[len(MODELS[network].file) :]
    path = path.with_name("page%s.py" % variant)
    if not Path(ROOT, path).is_file():
        return Table(str(path), network, {}, {})
    page = importlib.import_module(".".join(path.with_suffix("").parts))
    rows_of, phrases, networks = (
        getattr(page, name, {}) for name in ("ROWS", "PHRASES", "NETWORKS")
    )
    return Table(str(path), network, rows_of, phrases, getattr(page, "UNSAID", ""), networks)


class Source:
    """A module's lines and what they show of a network's concepts.

    pieces: {concept's key: [Piece]}, with those of the steps and functions that it imports.
    code: the numbers of its lines of code, which are no comments, docstrings or blank.
    missed: [(entry of the table, why it is not found)].
    """

    def __init__(self, module, table):
        self.module, self.table, self.missed = module, table, []
        self.concepts = rows(table.network)
        self.text = "\n".join(module.lines) + "\n"
        self.tree, self.names, self.docstrings, self.tokens = _parsed(self.text)
        self.comments = {n for n, line in enumerate(module.lines, 1) if line.lstrip()[:1] == "#"}
        self.comments -= self.docstrings
        used = {token.start[0] for token in self.tokens}
        self.code = sorted(used - self.docstrings)
        cutter = _Cutter(module.lines, self.comments)
        for node in self.tree.body[1 if ast.get_docstring(self.tree) else 0 :]:
            cutter.statement(node)
        self.units = cutter.units
        self.unit_of = {number: unit for unit in self.units for number in unit.lines}
        self.pieces = defaultdict(list)
        self.found = set()  # the entries of the table that are found, each (key, fragment)

    def rows(self):
        """This source, with the rows found."""
        for step in STEPS:
            self._step(step)
        for step in STEPS:
            for concept, text, needed in self._entries(step):
                lost = needed and (concept.key, text) not in self.found
                if lost and concept.step == step:
                    self.missed.append((concept.key, "no %r in %s" % (text, step)))
        for key in sorted(self.table.unsaid & self.table.own & set(self.pieces)):
            line = self.pieces[key][0].lines[0]
            self.missed.append((key, "needs no code, it says, but line %d shows it" % line))
        return self

    def needs_none(self, key):
        """Whether a row without code needs none; else nobody has said yet which code it is."""
        optional = any(concept.optional for concept in self.concepts if concept.key == key)
        return optional or key in REST.values() or self.table.unsaid & {key, split(key)[0]}

    def _step(self, step):
        """Find a step's rows: in its lines, and in the functions that these use."""
        if step in self.module.imports:
            lender = Source(self.module.imports[step], self.table)
            lender._step(step)
            own = [key for key in self.pieces if steps(self.table.network)[key] != step]
            self._take(lender, set(lender.pieces) - set(own))
            self.missed += lender.missed
            return
        spans = [self.module.steps.get(step, (0, 0))]
        self._search(step, spans)
        for lender, defined in self._reached(spans, set(self._within(spans))):
            lender._search(step, defined)
            self._take(lender, [key for key in lender.pieces if self._lacks(key, step)])

    def _take(self, lender, keys):
        self.pieces.update({key: lender.pieces[key] for key in keys})
        self.found |= lender.found

    def _lacks(self, key, step):
        """Whether a row has neither lines of its own nor a remark that it needs none."""
        kind = split(key)[0]
        known = key in self.pieces or key in REST.values() or self.table.unsaid & {key, kind}
        of_step = any(step in (c.step, *c.also) for c in self.concepts if c.key == key)
        return of_step and not known

    def _search(self, step, spans):
        """Find a step's rows between some lines."""
        units = [
            unit
            for unit in self.units
            if any(first <= unit.lines[0] <= last for first, last in spans)
        ]
        if step == "head":
            units = self._fields() + units
        self._take_helpers(step, units)
        self._match(step, units)
        self._collect(step, units)

    def _reached(self, spans, seen):
        """[(a fresh Source, spans)] of what some lines use, in this file and in its folder's."""
        for module, names in self._used(spans).items():
            fresh = {name for name in names if (module.path, name) not in seen}
            seen.update((module.path, name) for name in names)
            if not fresh:
                continue
            lender = Source(module, self.table)
            defined = lender._defined(fresh)
            if defined:
                yield lender, defined
                yield from lender._reached(defined, seen)

    def _within(self, spans):
        """(path, name) of what is defined between some lines."""
        for node in self.tree.body:
            if any(first <= node.lineno <= last for first, last in spans) and hasattr(node, "name"):
                yield self.module.path, node.name

    def _used(self, spans):
        """{Module: names} of what some lines use of this file and of others of the folder."""
        used, imports = defaultdict(set), self.module.imports
        own = {node.name for node in self.tree.body if hasattr(node, "name")}
        for node in self.names:
            if not any(first <= node.lineno <= last for first, last in spans):
                continue
            if isinstance(node, ast.Name) and node.id in imports:
                used[imports[node.id]].add(node.id)
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in imports:
                used[imports[node.value.id]].add(node.attr)
            elif isinstance(node, ast.Name) and node.id in own:
                used[self.module].add(node.id)
        return used

    def _defined(self, names):
        """The spans of lines that define some names; a step's with its helpers."""
        spans = [self.module.steps[name] for name in names if name in self.module.steps]
        for node in self.tree.body:
            if getattr(node, "name", None) in names - set(self.module.steps):
                first = min(each.lineno for each in [node, *node.decorator_list])
                spans.append((first, node.end_lineno))
        return spans

    def _fields(self):
        """A unit for each field of the module's docstring, with its concept."""
        units, known = [], [concept.key for concept in self.concepts if concept.step == "head"]
        for name, numbers in fields(self.module, self.docstrings):
            key = name.lower().replace(" ", "-")
            key = key if key in known else known[0]
            unit = Unit(numbers, numbers[-1], None, (), prose=True)
            unit.spans.append(Span(key, (numbers[0], 0), (numbers[0], 0)))
            units.append(unit)
        return units

    def _entries(self, step):
        """(concept, fragment, whether it must be found) of a step's concepts, kinds left out."""
        for concept in self.concepts:
            if step in (concept.step, *concept.also):
                kind, number = split(concept.key)
                for text in self.table.rows.get(concept.key, ()):
                    yield concept, text, concept.key in self.table.own
                for text in self.table.rows.get(kind, ()) if number else ():
                    if "{}" in text:
                        yield concept, text.format(number), kind in self.table.own
                for text in concept.code:
                    yield concept, text, False

    def _take_helpers(self, step, units):
        for concept, text, _ in self._entries(step):
            if not text.startswith("def "):
                continue
            name = text.split()[1]
            for unit in units:
                if name in unit.helpers and not unit.helper:
                    unit.helper = name
                    unit.spans = [Span(concept.key, (unit.lines[0], 0), (unit.lines[0], 0))]
                    self.found.add((concept.key, text))

    def _match(self, step, units):
        free = {unit for unit in units if not (unit.helper or unit.head or unit.spans)}

        def places(text):
            return [(unit, *span) for unit, *span in self.places(text) if unit in free]

        for kind, keys in kinds(self.table.network).items():
            if steps(self.table.network)[keys[0]] != step:
                continue
            texts = [text for text in self.table.rows.get(kind, ()) if "{}" not in text]
            at = sorted((place for text in texts for place in places(text)), key=_start)
            if texts and len(at) != len(keys):
                if kind in self.table.own:
                    self.missed.append((kind, "found %d, not %d" % (len(at), len(keys))))
                at = at if kind in self.table.own else []  # another network's: which is which?
            for key, place in zip(keys, at):
                _claim(key, *place)
        for concept, text, _ in self._entries(step):
            for place in () if text.startswith("def ") else places(text):
                _claim(concept.key, *place)
                self.found.add((concept.key, text))
        for unit in free:
            unit.spans = [span for span in unit.spans if span.key == ALONE] or unit.spans

    def places(self, text):
        """[(unit, start, end)] of a fragment's matches; a match belongs to where it begins."""
        return [
            (self.unit_of[start[0]], start, end)
            for start, end in _matches(self.text, text)
            if start[0] in self.unit_of
        ]

    def _collect(self, step, units):
        for unit in units:
            spans = _inherited(unit) or [Span(REST[step], *[(unit.lines[0], 0)] * 2)]
            order = list(steps(self.table.network))
            last = max((span.key for span in spans), key=order.index)
            for span in spans:
                owned = self._owned(unit, span, spans) if len(spans) > 1 else {}
                lines = unit.lines
                if span.key == last:  # a comment above is shown once
                    lines = self._with_comments(unit.lines)
                piece = Piece(self.module, unit, step, lines, owned, len(spans) > 1)
                self.pieces[span.key].append(piece)

    def _with_comments(self, numbers):
        """The lines of a unit and the comments right above it."""
        first = numbers[0]
        while first - 1 in self.comments:
            first -= 1
        return tuple(range(first, numbers[0])) + tuple(numbers)

    def _owned(self, unit, span, spans):
        """{line: [(start, end)]} of the columns of ``span``, without the spans inside it."""
        inside = [
            other
            for other in spans
            if other[1:] != span[1:] and span.start <= other.start and other.end <= span.end
        ]
        owned = {}
        for number in unit.lines:
            line, runs = self.module.lines[number - 1], []
            for column in range(len(line)):
                place = (number, column)
                if span.start <= place < span.end and not any(
                    other.start <= place < other.end for other in inside
                ):
                    if runs and runs[-1][1] == column:
                        runs[-1][1] = column + 1
                    else:
                        runs.append([column, column + 1])
            owned[number] = [(a, b) for a, b in runs if line[a:b].strip()]
        return owned

    def first(self, text, steps=()):
        """The first unit that has a fragment, preferably in some steps; None if there is none.

        Imports do not count, and heads of functions only if there is nothing else.
        """
        spans = [self.module.steps.get(step, (0, 0)) for step in steps]

        def rank(unit):
            return unit.head, not any(first <= unit.lines[0] <= last for first, last in spans)

        units = (unit for unit, _, _ in self.places(text))
        return min((unit for unit in units if not unit.imports), key=rank, default=None)

    def prose(self, kind, name):
        """Line numbers of a ``head`` field of the file, or of a function's ``docstring``; or ()."""
        if kind == "head":
            return dict(fields(self.module, self.docstrings)).get(name, ())
        for node in self.tree.body if kind == "docstring" else ():
            if getattr(node, "name", None) == name and ast.get_docstring(node):
                return (node.body[0].lineno,)
        return ()

    def rest(self):
        """The lines of code that show no concept but the rest of their step."""
        shown = {
            number
            for key, pieces in self.pieces.items()
            if not key.startswith("rest-")
            for piece in pieces
            if piece.module is self.module
            for number in piece.lines
        }
        return [number for number in self.code if number not in shown]


def _several(said):
    return (said,) if isinstance(said, str) else said


@lru_cache(maxsize=None)
def _parsed(text):
    """A file's tree, the names in it, the numbers of its docstrings' lines, and its tokens."""
    tree = ast.parse(text)
    names = [node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute))]
    return tree, names, _docstrings(tree), tokens(text)


@lru_cache(maxsize=None)
def _matches(code, text):
    """The matches of a fragment in a file, which is asked for them in several steps."""
    return matches(_parsed(code)[-1], fragment(text))


def _docstrings(tree):
    """The numbers of the lines of all docstrings."""
    kinds = (ast.Module, ast.FunctionDef, ast.ClassDef)
    return {
        number
        for node in ast.walk(tree)
        if isinstance(node, kinds) and ast.get_docstring(node)
        for number in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }


def fields(module, docstrings):
    """[(name, line numbers)] of the fields of the module's docstring, such as ``Layout:``."""
    made = []
    for number in sorted(docstrings):
        line = module.lines[number - 1]
        name, colon, _ = line.partition(": ")
        if colon and name[:1].isupper():
            made.append((name, [number]))
        elif made and line.startswith("    ") and made[-1][1][-1] == number - 1:
            made[-1][1].append(number)
        elif made:
            break
    return [(name, tuple(numbers)) for name, numbers in made]


def _start(place):
    return place[1]


def _claim(key, unit, start, end):
    if key not in [span.key for span in unit.spans]:
        unit.spans.append(Span(key, start, end))


def _inherited(unit):
    """A unit's spans; if it has none, the innermost one of the units around it."""
    if unit.spans or unit.around is None or unit.around.head:
        return unit.spans
    place = (unit.lines[0], 0)
    spans = _inherited(unit.around)
    around = [span for span in spans if span.start <= place < span.end] or spans[:1]
    return [Span(max(around, key=_start).key, place, place)] if around else []


def read(modules, network=FIRST):
    """{module's key: Source} of a network's modules."""
    return {module.key: with_rows(module, table(module, network)) for module in modules}


@lru_cache(maxsize=None)
def with_rows(module, table):
    """A module's ``Source`` with the rows found."""
    return Source(module, table).rows()


@lru_cache(maxsize=None)
def as_it_is(module, table):
    """A module's ``Source`` in which no row is looked for."""
    return Source(module, table)
