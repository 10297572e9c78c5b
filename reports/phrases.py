"""The phrase book: how each framework says what all of them say."""

import re
from collections import namedtuple

from markupsafe import Markup

from common.networks import MODELS
from common.system.errors import InputError
from reports import reading, sources
from reports.aligned import NOT_YET, sentence
from reports.concepts import PHRASES, split, steps

Said = namedtuple("Said", "path number text html prose")
Said.__doc__ = """How a module says something.

path, number: the file, and its first line.
text: whole calls and statements, or whole sentences.
html: the same, coloured.
prose: whether it is a sentence of a docstring.
"""

STEP = steps(reading.FIRST)
NOTHING = "–"  # to be said
SETTING = re.compile(r'"\w+": [^.(]*(#.*)?$')  # an entry of settings that calls nothing


def book(modules):
    """[(phrase's name, [Said, NOTHING or NOT_YET, for each of the CNN's modules])].

    InputError lists every entry of the frameworks' tables that their modules lack.
    """
    read = reading.read(modules)
    phrases = [
        (phrase.name, [_find(phrase, read[module.key]) for module in modules]) for phrase in PHRASES
    ]
    missed = misses(modules)
    if missed:
        raise InputError("these entries are not in their modules: " + "; ".join(missed))
    return phrases


def misses(modules):
    """A line for each entry of the frameworks' tables that their modules lack."""
    missed = []
    for source in reading.read(modules).values():
        table = source.table
        entries = [(key, "no such row, phrase or network") for key in table.unknown()]
        entries += source.missed
        for phrase in PHRASES:
            if table.phrases.get(phrase.name) and _code(phrase, source) is None:
                text = " or ".join(table.phrases[phrase.name])
                entries.append((phrase.name, "no %r in the file %r" % (text, phrase.file)))
        missed += ["%s: %r: %s" % (table.path, key, why) for key, why in entries]
    keys = {module.key for module in modules}
    for network in MODELS:
        own = [module for module in sources.modules(network) if module.key in keys]
        for source in reading.read(own, network).values() if network != reading.FIRST else ():
            entries = [(key, "no such row") for key in source.table.unknown()] + source.missed
            start = "%s: NETWORKS[%r]" % (source.table.path, network)
            missed += ["%s: %r: %s" % (start, key, why) for key, why in entries]
    return missed


def _file(phrase, source):
    """The file of a framework that is searched for a phrase, as a Source; None if it lacks it."""
    if phrase.file == "cnn":
        return _lender(phrase, source)
    for module in sources.modules(phrase.file):
        if module.key == source.module.key:
            return reading.as_it_is(module, source.table)
    return None


def _lender(phrase, source):
    """The module, or the one that it imports a phrase's steps from."""
    names = [key.rpartition(": ")[2] for key in phrase.keys]
    lenders = [source.module.imports.get(STEP.get(name, name)) for name in names]
    return reading.with_rows(lenders[0], source.table) if all(lenders) else source


def _code(phrase, source):
    """(file, unit) of the code that a table names for a phrase; None if the file lacks it."""
    file = _file(phrase, source)
    for text in source.table.phrases[phrase.name] if file else ():
        unit = file.first(text, [STEP[key] for key in phrase.keys if key in STEP])
        if unit:
            return file, unit
    return None


def _find(phrase, source):
    """A ``Said``, ``NOTHING`` or ``NOT_YET``."""
    table, file = source.table, _file(phrase, source)
    source = file if phrase.file == "cnn" else source
    if phrase.name in table.phrases:
        code = _code(phrase, source)
        if code:
            return _said(*code)
        return NOT_YET if table.phrases[phrase.name] else NOTHING
    for key in phrase.keys if file else ():
        kind, _, name = key.partition(": ")
        if kind == "last":
            unit = (_units(source, name) or [None])[-1]
        else:
            unit = _of_row(source, key)
        numbers = unit.lines if unit and unit.prose else file.prose(kind, name)
        if numbers:
            return _sentence(file.module, numbers)
        if unit:
            return _said(file, unit)
    known = table.unsaid.union(source.pieces)  # a row may have nothing but settings
    return NOTHING if known.intersection(phrase.keys) else NOT_YET


def _of_row(source, key):
    """The unit of a row that says most; None if the row is empty.

    It is the end of a helper, or has the table's first fragment, or comes first.
    """
    units = _units(source, key)
    helpers = [unit for unit in units if unit.helper]
    if helpers:
        return [unit for unit in helpers if unit.helper == helpers[0].helper][-1]
    fragments = source.table.rows.get(key) or source.table.rows.get(split(key)[0], ())
    for text in fragments[:1] if units else ():
        return source.first(text, [STEP[key]])
    return units[0] if units else None


def _units(source, key):
    """The units of a row that are a framework's words: no head of a function, no plain setting."""
    units = [piece.unit for piece in source.pieces.get(key, ()) if not piece.unit.head]
    lines = source.module.lines
    return [unit for unit in units if not SETTING.match(lines[unit.lines[0] - 1].strip())]


def _sentence(module, numbers):
    """Lines of a docstring."""
    words = " ".join(module.lines[number - 1].strip().strip('"') for number in numbers)
    text = re.sub(r"^[A-Z][\w' ]*: ", "", words)
    return Said(module.path, numbers[0], text, Markup(sentence(words)), True)


def _said(source, unit):
    """A unit's code, with the elements inside it."""
    module, first = source.module, unit.lines[0]
    lines = module.lines[first - 1 : unit.last]
    indent = len(lines[0]) - len(lines[0].lstrip())
    colours = sources.coloured(module)[first - 1 : unit.last]
    html = [sources.html(line, spans, indent) for line, spans in zip(lines, colours)]
    text = "\n".join(line[indent:] for line in lines)
    return Said(module.path, first, text, Markup("\n".join(html)), False)
