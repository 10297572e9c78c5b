"""The result of a comparison as one HTML file, which loads nothing and runs nothing.

It is made of the JSON of ``verdict.py`` alone.
"""

import math
import os
from collections import OrderedDict, namedtuple
from html import escape
from itertools import groupby
from string import Template

from common.compare.arrays import ROUNDINGS, UNITS, shown
from common.compare.layers.docs import PAGE
from common.system.files import atomic_write

TEMPLATE = os.path.join(os.path.dirname(__file__), "page.html")
LONGEST = 300  # letters of a text from a file
HEIGHT, MARGIN = 220, 14  # of a chart, in pixels
State = namedtuple("State", "name words legend")
STATES = OrderedDict(
    [
        ("agree", State("agree", "agrees", "agrees")),
        ("off", State("off", "differs", "differs after it, perhaps only because of it")),
        ("also different", State("also", "also different", "computes something else, too")),
        ("first difference", State("first", "first difference", "first difference")),
    ]
)  # of pairs; a chart draws the later ones over the others
SECTIONS = OrderedDict(
    [
        ("Layers, in the order of computation", ("layer",)),
        ("Gradients", ("gradient",)),
        ("Weights and updates", ("weight", "update")),
        ("Other arrays", ("other",)),
    ]
)


def write(path, result):
    """Write the page, atomically."""
    with atomic_write(path) as file:
        file.write(render(result).encode("utf-8"))


def render(result):
    """The page's HTML."""
    with open(TEMPLATE, encoding="utf-8") as file:
        template = Template(file.read())
    return template.substitute(
        title=title(result),
        colour="good" if result["agree"] else "bad",
        rule=rule(result),
        a=recording(result["a"]),
        b=recording(result["b"]),
        findings="\n".join(findings(result)),
        sections="\n".join(sections(result["rows"])),
    )


def text(words):
    """Words of a file or a path: short, printable, escaped."""
    words = str(words)
    words = words if len(words) <= LONGEST else words[:LONGEST] + "..."
    return escape("".join(letter if letter.isprintable() else "?" for letter in words))


def title(result):
    """The result in a line."""
    first = result["first_difference"]
    if first is None:
        count = sum(row["state"] == "agree" for row in result["rows"])
        if not result["agree"]:
            return "%d pairs agree; missing in B: %s" % (count, text(", ".join(result["missing"])))
        return "%d pairs agree; no difference found" % count
    if first["a"] == first["b"]:
        return "First difference: %s" % text(first["a"])
    return "First difference: %s in A, %s in B" % (text(first["a"]), text(first["b"]))


def rule(result):
    """When two arrays agree."""
    if result["exact"]:
        says = "Arrays agree within %d times the difference of A and %s."
        return says % (UNITS, text(result["exact"]))
    says = "Arrays agree if their RMS difference is at most %g of the spread plus %d roundings."
    return says % (result["tolerance"], ROUNDINGS)


def recording(file):
    """A recording's path and its number of arrays."""
    return "%s <span class=soft>%d arrays</span>" % (text(file["path"]), file["arrays"])


def findings(result):
    """Yield the first difference, further ones, and the optimisers."""
    first = result["first_difference"]
    if first is not None:
        yield '<div class="found">'
        for line in OrderedDict.fromkeys([first["computes"], first["relation"]]):
            if line:
                yield "<p>%s</p>" % text(line)
        for line in distances(first):
            yield "<p>%s</p>" % line
        counts = (first["agree_before"], first["agree_behind"], first["behind"])
        says = "<p>Before it, %d pairs agree; after it, %d of %d pairs agree.%s</p>"
        yield says % (counts + (see(first),))
        yield "</div>"
    also = [row for row in result["rows"] if row["state"] == "also different"]
    if also:
        yield "<h2>Also different</h2><ul>"
        for row in also:
            names = (text(row["a"]["name"]), text(row["b"]["name"]), text(row["says"]))
            yield "<li>%s in A, %s in B: %s.%s</li>" % (names + (see(row),))
        yield "</ul>"
    notes = [result["convention"] and "a convention, not a mistake: " + result["convention"]]
    for note in filter(None, notes + result["hints"]):
        yield "<p>%s.</p>" % text(note[0].upper() + note[1:])
    if result["optimizer"] is not None:
        for line in optimizer(result["optimizer"]):
            yield line


def distances(first):
    """Yield the distances at the first difference, in a sentence."""
    parts = [
        "%s %s" % (shown(first[key]), words)
        for key, words in (("apart", "as they are"), ("apart_with_relation", "with that relation"))
        if first[key] is not None
    ]
    if parts:
        yield "Distance relative to the spread: %s." % ", ".join(parts)


def see(finding):
    """Where the manual says more."""
    anchor = finding["docs"]
    return " See <code>%s</code>." % text("%s#%s" % (PAGE, anchor)) if anchor else ""


def optimizer(sides):
    """Yield the optimisers of both sides."""
    yield "<h2>Optimiser</h2>"
    if sides["differs"]:
        says = sides["differs"].replace("the optimiser: ", "", 1)
        yield '<p><span class="bad">Different:</span> %s.</p>' % text(says)
    elif sides["a"] and sides["a"] == sides["b"]:
        yield '<p><span class="good">The same in both:</span> %s.</p>' % text(sides["a"])
    else:
        a, b = (text(sides[side] or "none that is known fits") for side in "ab")
        yield "<p>A: %s. B: %s.</p>" % (a, b)


def sections(rows):
    """Yield each kind of arrays: a chart and a table."""
    for heading, kinds in SECTIONS.items():
        chosen = [row for row in rows if row["kind"] in kinds]
        if chosen:
            yield "<section><h2>%s</h2>" % heading
            pairs = [row for row in chosen if row["state"] in STATES]
            if len(pairs) > 1:
                yield chart(pairs, heading)
            yield table(chosen)
            yield "</section>"


def chart(pairs, heading):
    """The distance of each pair on a logarithmic scale, as SVG that is as wide as the page."""
    values = [row[key] for row in pairs for key in ("distance", "limit") if row[key]]
    low = math.floor(min(map(math.log10, values))) if values else -8
    high = max(math.ceil(max(map(math.log10, values))) if values else 0, low + 2)
    step = -(-(high - low) // 8)
    levels = range(low, high + 1, step)

    def height(value):
        """Where a distance is; 0 is at the bottom, one that is not known at the top."""
        share = 1.0 if value is None else 0.0
        if value:
            share = (math.log10(value) - low + 1) / (high - low + 1.0)
        return MARGIN + (1 - share) * (HEIGHT - 2 * MARGIN)

    label = "%s: distance of each pair relative to the spread" % heading
    parts = ['<figure class="chart" role="img" aria-label="%s" style="margin-inline:0">' % label]
    axis = ['<text x="40" y="%.0f">%s</text>' % (height(0) + 4, "equal")]
    axis += ['<text x="40" y="%.0f">%g</text>' % (height(10.0**n) + 4, 10.0**n) for n in levels]
    parts.append('<svg aria-hidden="true">%s</svg><svg aria-hidden="true">' % "".join(axis))
    for level in [0] + [10.0**n for n in levels]:
        parts.append('<line class="grid" x2="100%%" y1="%.0f" y2="%.0f"/>' % ((height(level),) * 2))
    width = 100.0 / len(pairs)
    for limit, same in groupby(enumerate(pairs), lambda item: item[1]["limit"]):
        places = [n for n, _ in same]
        if limit:
            ends = (places[0] * width, (places[-1] + 1) * width, height(limit), height(limit))
            parts.append('<line class="limit" x1="%.2f%%" x2="%.2f%%" y1="%.1f" y2="%.1f"/>' % ends)
    order = list(STATES)
    for n, row in sorted(enumerate(pairs), key=lambda item: order.index(item[1]["state"])):
        parts.append(
            '<svg x="%.2f%%" y="%.1f" style="width:1px;height:1px">%s</svg>'
            % ((n + 0.5) * width, height(row["distance"]), mark(row, 5))
        )
    parts.append("</svg></figure>" + legend(pairs))
    return "".join(parts)


def mark(row, size, titled=True):
    """The sign of a pair's state, around the origin: each state has a shape and a colour."""
    name = STATES[row["state"]].name
    if name == "agree":
        shape = '<circle class="mark agree" r="%d">%%s</circle>' % size
    else:
        s = size + 1
        corners = {
            "first": ((0, -s), (s, 0), (0, s), (-s, 0)),
            "also": ((0, -s), (s, s), (-s, s)),
            "off": ((-s, -s), (s, -s), (s, s), (-s, s)),
        }[name]
        points = " ".join("%d,%d" % corner for corner in corners)
        shape = '<polygon class="mark %s" points="%s">%%s</polygon>' % (name, points)
    return shape % ("<title>%s</title>" % tooltip(row) if titled else "")


def tooltip(row):
    """A pair's names and its distance."""
    a, b = text(row["a"]["name"]), text(row["b"]["name"])
    return "%s: %s" % (a if a == b else "%s and %s" % (a, b), distance(row))


def distance(row):
    """A pair's distance in words."""
    return "not known" if row["distance"] is None else shown(row["distance"])


def legend(pairs):
    """The states that a chart has, and the line of the largest distance that agrees."""
    items = []
    present = {row["state"] for row in pairs}
    for state, known in STATES.items():
        if state in present:
            items.append("<li>%s%s</li>" % (icon({"state": state}), known.legend))
    if any(row["limit"] for row in pairs):
        line = '<svg aria-hidden="true"><line class="limit" x2="22" y1="6" y2="6"/></svg>'
        items.append("<li>%sup to here they agree</li>" % line)
    return '<ul class="legend">%s</ul>' % "".join(items)


def icon(row):
    """A state's sign beside a word."""
    return '<svg aria-hidden="true" viewBox="-6 -6 12 12">%s</svg>' % mark(row, 4, titled=False)


def table(rows):
    """A row for each array."""
    lines = ["<table><thead><tr>"]
    lines += ["<th scope=col>%s</th>" % head for head in ("Verdict", "A", "B", "Distance", "Notes")]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        state = STATES.get(row["state"], State("only", row["state"], ""))
        sign = icon(row) if row["state"] in STATES else ""
        lines.append('<tr class="%s"><td class="state">%s%s</td>' % (state.name, sign, state.words))
        lines += [array(row[side], side.upper()) for side in "ab"]
        shows = distance(row) if row["state"] in STATES else ""
        head = ' data-head="Distance"' if shows else ""
        lines.append('<td class="n"%s>%s</td><td>%s</td></tr>' % (head, shows, notes(row)))
    lines.append("</tbody></table>")
    return "\n".join(lines)


def array(side, head):
    """The cell of an array; empty if the recording has none."""
    if side is None:
        return "<td></td>"
    shape = ", ".join(str(size) for size in side["shape"])
    cell = '<td data-head="%s"><span class="name">%s</span> <span class="shape">(%s)</span></td>'
    return cell % (head, text(side["name"]), shape)


def notes(row):
    """What is known of a pair besides its distance."""
    parts = [row["says"], row["layout"]]
    if row["a_computes"] and row["a_computes"] == row["b_computes"]:
        parts.append("computes " + row["a_computes"])
    else:
        for side in "ab":
            if row[side + "_computes"]:
                parts.append("%s computes %s" % (side.upper(), row[side + "_computes"]))
    if row["proof"] is False:
        parts.append("too few values to be proof")
    return "<br>".join(text(part) for part in parts if part)
