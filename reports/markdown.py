"""The tables as Markdown: reports/README.md."""

import html
import re

from reports import phrases, sources, tables
from reports.committed import FOLDERS
from reports.table import CODE, pieces

HEAD = """# The committed results

Made by `tox run -e report` from the files in [results](results) and, where there are any, `bench`,
`profiles` and `lessons`, from `frameworks/*/facts.py` and from the modules' source;
`tox run -e report -- show` prints the tables in the terminal. In the tables of results, first step
is the first one alone, with what compiles and tunes; step is the median over blocks of eight later
steps; images/s is the batch size over that median; training is all epochs; of matrix product is
training's multiply-adds a second over those of NumPy's own 2048 x 2048 float32 product, measured in
the same run. The [README](../README.md) says what the certificate proves."""


def escaped(text):
    """``text`` as it is, nothing in it markup, but for pairs of backticks: code is between them."""
    parts = [
        "`%s`" % part.replace("|", r"\|")
        if kind is CODE
        else html.escape(re.sub(r"([\\`*_\[\]|])", r"\\\1", part), quote=False)
        for kind, part in pieces(text.replace("\n", " "))
    ]
    return "".join(parts)


def cell(content):
    """A cell's Markdown."""
    text, link = content if isinstance(content, tuple) else (content, None)
    if not link:
        return escaped(text)
    return "[%s](%s)" % (
        escaped(text),
        link if link.startswith(tuple(folder + "/" for folder in FOLDERS)) else "../" + link,
    )


def table(content):
    """A table of ``tables`` in Markdown's pipes."""
    lines = ["## " + content.title, ""]
    for term, text in content.answers:
        lines += ["**%s.** %s" % (term, escaped(text)), ""]
    if content.note:
        lines += [escaped(content.note), ""]
    heads = [escaped(column.strip()) for column in content.columns]
    rules = ["---:" if column.endswith(" ") else "---" for column in content.columns]
    rows = [list(map(cell, row)) for row in content.rows]
    lines += ["| %s |" % " | ".join(row) for row in [heads, rules] + rows]
    return "\n".join(lines)


def phrase(said):
    """A phrase's Markdown: code as code, on one line, and prose as it is."""
    if isinstance(said, str):
        return said
    text = " ".join(said.text.split())
    if said.prose:
        shown = "in words: " + escaped(text.replace("``", ""))
    else:
        ticks = "``" if "`" in text else "`"
        shown = "%s%s%s" % (ticks, text.replace("|", "\\|"), ticks)
    return "[%s](../%s#L%d)" % (shown, said.path, said.number)


def phrase_book():
    """The phrase book as a table: a row for each concept, a column for each module."""
    modules = sources.modules()
    lines = [
        "## Phrase book",
        "",
        "What says it: whole calls, out of the modules, or a sentence where that says more. "
        "A dash: it needs no code. Not there yet: nobody has written it, or said where it is.",
        "",
        "| concept | %s |" % " | ".join(escaped(module.title) for module in modules),
        "| %s |" % " | ".join(["---"] * (len(modules) + 1)),
    ]
    for concept, said in phrases.book(modules):
        lines.append("| %s |" % " | ".join([escaped(concept), *map(phrase, said)]))
    return "\n".join(lines)


def page(used):
    """The whole page."""
    parts = [table(content) for content in tables.every(used)]
    differs = "\n".join("- " + escaped(sentence) for sentence in tables.differs())
    parts += ["What differs in the original:\n\n" + differs, phrase_book()]
    return "\n\n".join([HEAD] + parts) + "\n"
