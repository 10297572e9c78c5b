"""The modules side by side as HTML: a row for each concept, a cell in it for each framework."""

import re

from markupsafe import Markup, escape

from reports import sources
from reports.concepts import STEPS, steps
from reports.concepts import rows as concepts_of

NOTHING = "no code needed"
NOT_YET = "not there yet"


class Rows:
    """Makes the cells of one module.

    A line's first appearance has its number as an anchor, ``KEY-NUMBER``; a line of another file
    has that file's name too, ``KEY-FILE-NUMBER``.
    """

    def __init__(self, module, source):
        self.module, self.source = module, source
        self.anchored = set()

    def cell(self, key):
        """The code that shows a concept, as HTML, or in words why there is none."""
        pieces = self.source.pieces.get(key)
        if not pieces:
            return NOTHING if self.source.needs_none(key) else NOT_YET
        if pieces[0].unit.prose:
            return Markup("".join(self._prose(piece) for piece in pieces))
        module = pieces[0].module
        open_, folded = {}, {}
        for piece in pieces:
            for number in piece.lines:
                helper = piece.unit.helper
                target = folded.setdefault(helper, {}) if helper else open_
                own = piece.owned.get(number, []) if piece.shared else None
                target.setdefault(number, own)
        parts = [self._helper(module, name, lines) for name, lines in folded.items()]
        origin = self._origin(module, pieces[0].step, steps(self.source.table.network)[key])
        return Markup(origin + self._lines(module, open_) + "".join(parts))

    def _origin(self, module, found, step):
        """A note where the lines are another step's, or another file's that is imported."""
        where = []
        if found != step:
            where.append("in %s" % found)
        if module.path != self.module.path:
            where.append("from %s" % module.path.split("/")[-1])
        return "<span class=from>%s</span>" % escape(", ".join(where)) if where else ""

    def _prose(self, piece):
        """A field of the module's docstring, as a sentence."""
        first = piece.lines[0]
        text = " ".join(piece.module.lines[n - 1].strip() for n in piece.lines)
        made = sentence(text)
        return '<p class=prose id="%s-%d" data-n=%d>%s</p>' % (self.module.key, first, first, made)

    def _helper(self, module, name, lines):
        head = (
            "<details class=helper><summary>helper <code>%s</code>, %d lines</summary>%s</details>"
        )
        return head % (escape(name), len(lines), self._lines(module, lines))

    def _lines(self, module, lines):
        texts = module.lines
        filled = [n for n in lines if texts[n - 1].strip()]
        cut = min((_indent(texts[n - 1]) for n in filled), default=0)
        made, last = [], None
        for number in sorted(lines):
            if not texts[number - 1].strip():
                continue
            gap = last is not None and any(texts[n - 1].strip() for n in range(last + 1, number))
            made.append(self.line(module, number, cut, lines[number], gap))
            last = number
        return "<pre class=code>%s</pre>" % "".join(made) if made else ""

    def line(self, module, number, cut=0, own=None, gap=False):
        """A line from column ``cut`` on; ``own`` are the columns that the row is about."""
        text, colours = module.lines[number - 1], sources.coloured(module)[number - 1]
        name = "%s-%d" % (self.module.key, number)
        if module.path != self.module.path:
            name = "%s-%s-%d" % (self.module.key, module.path.split("/")[-1][:-3], number)
        anchor = ""
        if name not in self.anchored:
            self.anchored.add(name)
            anchor = ' id="%s"' % name
        made = (
            sources.html(text, colours, cut) if own is None else self._own(text, colours, cut, own)
        )
        comment = text.lstrip()[:1] == "#"
        return (
            '<span class="l%s%s"%s style="--i:%d">'
            '<a class=n tabindex=-1 href="#%s">%d</a>%s\n</span>'
            % (
                " g" if gap else "",
                " cl" if comment else "",
                anchor,
                _indent(text) - cut,
                name,
                number,
                made,
            )
        )

    def _own(self, text, colours, cut, own):
        """The row's own columns coloured, the others as context; a comment is of all."""
        comment = next((start for start, _, kind in colours if kind == "c"), len(text))
        made, reached = "", cut
        for start, end in own:
            if start > reached:
                made += "<i class=o>%s</i>" % escape(text[reached:start])
            made += "<b>%s</b>" % sources.html(text, colours, start, end)
            reached = end
        if reached < comment:
            made += "<i class=o>%s</i>" % escape(text[reached:comment])
        return made + sources.html(text, colours, max(comment, reached))


def sentence(text):
    """A docstring's field without its name, as HTML; ``code`` and *emphasis* are marked up."""
    words = str(escape(re.sub(r"^[A-Z][\w' ]*: ", "", text)))
    parts = re.split(r"``(.+?)``", words)
    parts[::2] = [re.sub(r"\*(\w+)\*", r"<em>\1</em>", part) for part in parts[::2]]
    parts[1::2] = ["<code>%s</code>" % part for part in parts[1::2]]
    return "".join(parts)


def _indent(text):
    return len(text) - len(text.lstrip())


def rows(network, modules, read):
    """[(step, summary, [(concept, [(module, HTML or why there is none)])])] of a network."""
    makers = [(module, Rows(module, read[module.key])) for module in modules]
    steps = []
    for part, summary in STEPS.items():
        of_part = []
        for concept in concepts_of(network):
            if concept.step == part:
                cells = [(module, maker.cell(concept.key)) for module, maker in makers]
                if any(isinstance(cell, Markup) for _, cell in cells):
                    of_part.append((concept, cells))
        if of_part:
            steps.append((part, summary, of_part))
    return steps


def whole(module, source):
    """[(number, keys of the concepts that it speaks of, indent, HTML)] of the module's lines."""
    of_line = {}
    for key, pieces in source.pieces.items():
        for piece in pieces:
            for number in piece.lines if piece.module is module else ():
                of_line.setdefault(number, []).append(key)
    colours = sources.coloured(module)
    return [
        (
            number,
            " ".join(of_line.get(number, [])),
            _indent(text),
            Markup(sources.html(text, colours[number - 1])),
        )
        for number, text in enumerate(module.lines, 1)
    ]
