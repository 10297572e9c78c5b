"""The common parts of all figures: Matplotlib draws SVG that takes the page's colours."""

import html
import io
import re
from collections import namedtuple

import matplotlib
from matplotlib.figure import Figure

from reports.table import explained


class Drawn(namedtuple("Drawn", "key title caption svg command provenance")):
    """A figure.

    key: its name in an address.
    title, caption: its subject, and how to read it.
    svg: the drawing.
    command: reproduces the runs in it; NAME is an environment.
    provenance: data, machine and date of the runs in it.
    """

    @property
    def explained(self):
        """The caption, with what † means if the drawing has one."""
        return explained(self.caption, self.svg)


# From Okabe and Ito's palette, which colour-blind people can tell apart.
ACCENT, OTHER = "#0072B2", "#D55E00"
COLOURS = (ACCENT, OTHER, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
THEIRS = {ACCENT: "accent", OTHER: "other"}  # the page's own names for them
YARDSTICK = "#808080"
TEXT, LINES = "#010101", "#020202"  # replaced by the page's own colours

STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": TEXT,
    "text.parse_math": False,  # a $ in a result file is a $
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.edgecolor": LINES,
    "grid.color": LINES,
    "grid.linewidth": 0.4,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def svg(figure, title):
    """The figure as an SVG element to put into a page."""
    out = io.StringIO()
    figure.patch.set_alpha(0)
    for axes in figure.axes:
        axes.patch.set_alpha(0)
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with matplotlib.rc_context({"svg.hashsalt": title}):
        figure.savefig(out, format="svg", metadata=metadata)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = text.replace(TEXT, "var(--text)").replace(LINES, "var(--line)")
    for colour, theirs in THEIRS.items():
        text = text.replace(colour.lower(), "var(--%s)" % theirs)
    text = re.sub(r'font-family: [^;"]*', "font-family: system-ui, sans-serif", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # each figure's are the same
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text)
    label = html.escape(title)
    return text.replace("<svg ", '<svg role="img" aria-label="%s" ' % label, 1)


def panels(names, title, xlabel, ylabel, draw, log=False):
    """A panel for each of ``names``, all with the same axes; ``draw(axes, name)`` fills it."""
    columns = 4
    rows = -(-len(names) // columns)
    with matplotlib.rc_context(STYLE):
        height = 0.9 + 1.5 * rows
        figure = Figure(figsize=(8, height))
        # By hand: a layout that Matplotlib solves takes most of the time that the page takes.
        sides = {"left": 0.09, "right": 0.99, "bottom": 0.5 / height, "top": 1 - 0.5 / height}
        figure.subplots_adjust(wspace=0.08, hspace=0.3, **sides)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, name in zip(grid, names):
            axes.set_title(name, fontsize=9)
            draw(axes, name)
            if log:
                logarithmic(axes)
        for axes in grid[len(names) :]:
            axes.set_axis_off()
        legend(figure, grid[: len(names)])
        figure.supxlabel(xlabel, fontsize=9, y=0.05 / height)
        figure.supylabel(ylabel, fontsize=9, x=0.01)
        return svg(figure, title)


def logarithmic(axes):
    """A logarithmic axis upwards, of plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")


def legend(figure, grid, columns=3):
    """One legend above all these axes, without repetitions."""
    keys = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            keys.setdefault(label, handle)
    figure.legend(keys.values(), keys, loc="upper right", ncols=columns)


def intervals(rows, title, xlabel, at):
    """A line for each (name, value, low, high): the interval, and where ``at`` is.

    An interval that holds ``at`` has the accent's colour.
    """
    with matplotlib.rc_context(STYLE):
        height = 0.6 + 0.22 * len(rows)
        longest = max(len(row[0]) for row in rows)
        left = min(0.7, max(0.36, 0.009 * longest))  # room for names, and for the intervals
        figure = Figure(figsize=(8, height))
        figure.subplots_adjust(left=left, right=0.99, bottom=0.5 / height, top=1 - 0.1 / height)
        axes = figure.subplots()
        axes.axvline(at, color=TEXT, linewidth=1)
        for place, (_, value, low, high) in enumerate(rows):
            shown = ACCENT if low <= at <= high else OTHER
            axes.plot([low, high], [place, place], color=shown, linewidth=2)
            axes.plot([value], [place], "o", color=shown, markersize=5)
        axes.set_yticks(range(len(rows)), [row[0] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(xlabel)
        return svg(figure, title)
