"""The figures, drawn by Matplotlib as SVG whose text and lines take the page's colours."""

import io
import re
from collections import namedtuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from common.given.figures import LIMBS
from reports.comparison import provenance
from reports.tables import kind, latest, ordered

Drawn = namedtuple("Drawn", "key title caption svg command provenance")
Drawn.__doc__ = """A figure.

key: what names it in an address.
title, caption: what it shows, and how it is read.
svg: the drawing.
command: what reproduces the runs in it, NAME standing for an environment.
provenance: data, machine and date of the runs in it.
"""

# Two colours of Okabe and Ito's palette, which the colour-blind tell apart, two shapes, and two
# widths of line, so that both lanes are seen where they agree.
LANES = {"same": ("#0072B2", "o", 2.2), "best": ("#D55E00", "s", 0.9)}
COLOURS = {"#0072B2": "accent", "#D55E00": "other"}  # of the page, where it has them
YARDSTICK = "#808080"
TEXT, LINES = "#010101", "#020202"  # replaced by the page's own colours

STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": TEXT,
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


def _svg(figure, title):
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
    for colour, _, _ in LANES.values():
        text = text.replace(colour.lower(), "var(--%s)" % COLOURS[colour])
    text = re.sub(r'font-family: [^;"]*', "font-family: system-ui, sans-serif", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # each figure's are the same
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text)
    return text.replace("<svg ", '<svg role="img" aria-label="%s" ' % title, 1)


def _frameworks(runs):
    return list(dict.fromkeys(run.result["framework"] for run in runs))


def _panels(runs, title, xlabel, ylabel, draw, log=False):
    """A small panel for each framework, all with the same axes; ``draw`` fills it."""
    names = _frameworks(runs)
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
            for run in runs:
                if run.result["framework"] == name:
                    draw(axes, run.result)
            if log:
                axes.set_yscale("log")
        for axes in grid[len(names) :]:
            axes.set_axis_off()
        keys = {}
        for axes in grid[: len(names)]:
            for handle, label in zip(*axes.get_legend_handles_labels()):
                keys.setdefault(label, handle)
        figure.legend(keys.values(), keys, loc="upper right", ncols=3)
        figure.supxlabel(xlabel, fontsize=9, y=0.05 / height)
        figure.supylabel(ylabel, fontsize=9, x=0.01)
        return _svg(figure, title)


def _line(axes, result, steps, values):
    lane = result["lane"]
    colour, _, width = LANES[lane]
    axes.plot(steps, values, color=colour, linewidth=width, label="lane " + lane)


def _learning(axes, result):
    losses = np.array(result["losses"])
    width = max(1, len(losses) // 40)
    smooth = np.convolve(losses, np.ones(width) / width, "valid")
    steps = np.arange(width, len(losses) + 1)
    _line(axes, result, steps, smooth)


def _divergence(axes, result):
    losses = result["certificate"]["losses"]
    exact = np.array(losses["reference"])
    steps = np.arange(1, len(exact) + 1)
    ours = np.array([np.nan if loss is None else loss for loss in losses["framework"]])
    rounded = np.abs(np.array(losses["reference_float32"]) - exact)
    if result["lane"] == "same":
        style = {"color": YARDSTICK, "linewidth": 4, "alpha": 0.5}
        axes.plot(steps, np.maximum(rounded, 1e-8), label="NumPy in float32", **style)
    off = np.maximum(np.abs(ours[: len(exact)] - exact), 1e-8)
    _line(axes, result, steps, off)


def learning(committed, machine):
    """The learning curves of one machine, a figure for each length of run."""
    runs = ordered([one for one in committed if one.machine == machine])
    figures = []
    for number, length in enumerate(dict.fromkeys(kind(run.result) for run in runs)):
        some = [run for run in runs if kind(run.result) == length]
        images = some[0].result["dataset"]["train_images"]
        epochs = some[0].result["hyperparameters"]["epochs"]
        title = "Learning curves, %s: %s" % (length, machine)
        caption = "Training loss of each step, with dropout; a moving mean over a 40th of the run."
        svg = _panels(some, title, "step", "training loss", _learning)
        command = "tox run -e NAME -- --lane LANE --train-images %d --epochs %d" % (images, epochs)
        key = "learning-%s-%d" % (machine, number)
        figures.append(Drawn(key, title, caption, svg, command, provenance(some)))
    return figures


def free_run(runs):
    """How each framework's LSTM continues a sine wave: [the figure], or [] without a run."""
    if not runs:
        return []
    runs = latest(runs)

    def draw(axes, result):
        targets, values = result["sample"]["targets"], result["sample"]["values"]
        steps = np.arange(1, len(targets) + 1)
        axes.axvline(len(targets) / 2 + 0.5, color=LINES, linewidth=0.8)
        if result["lane"] == "same":
            style = {"color": YARDSTICK, "linewidth": 4, "alpha": 0.5}
            axes.plot(steps, targets, label="the wave", **style)
        _line(axes, result, steps, values)

    title = "The LSTM's free run: %s" % runs[0].machine
    svg = _panels(runs, title, "step", "value", draw)
    caption = (
        "The first test sequence. Left of the line the network is given the wave and predicts the "
        "next value; right of it, it is given its own last prediction."
    )
    epochs = max(run.result["hyperparameters"]["epochs"] for run in runs)
    command = "tox run -e NAME -- --model lstm --lane LANE --epochs %d" % epochs
    return [Drawn("free-run-" + runs[0].machine, title, caption, svg, command, provenance(runs))]


def found_joints(runs):
    """The joints that each framework finds in the first test figure: [a figure], or []."""
    if not runs:
        return []
    runs = latest(runs)
    bones = [(start, end) for start, end, _, _ in LIMBS if start != end]

    def draw(axes, result):
        targets = np.reshape(result["sample"]["targets"], (-1, 3))
        found = np.reshape(result["sample"]["values"], (-1, 2))
        axes.set_aspect("equal")
        if result["lane"] == "same":
            x, y, visible = targets.T
            style = {"color": YARDSTICK, "markersize": 9, "alpha": 0.5}
            axes.plot(x[visible > 0], -y[visible > 0], "o", label="visible joints", **style)
        colour, _, width = LANES[result["lane"]]
        label = "lane " + result["lane"]
        for bone in bones:
            x, y = found[list(bone)].T
            axes.plot(x, -y, color=colour, linewidth=width, label=label)

    title = "Joints that were found: %s" % runs[0].machine
    svg = _panels(runs, title, "x, sides of the image", "y", draw)
    caption = "The first test figure: its visible joints, and what the network makes of it."
    epochs = max(run.result["hyperparameters"]["epochs"] for run in runs)
    command = "tox run -e NAME -- --model pose --lane LANE --epochs %d" % epochs
    return [Drawn("joints-" + runs[0].machine, title, caption, svg, command, provenance(runs))]


def divergence(committed):
    """How far each framework's losses are from float64, of the latest certificates."""
    title = "Distance from the float64 reference"
    svg = _panels(
        latest(committed),
        title,
        "step",
        "difference of the loss (logarithmic)",
        _divergence,
        log=True,
    )
    caption = (
        "The loss of each of the 20 steps of the trajectory rung, dropout off: its difference from "
        "the NumPy reference in float64. Grey: what the same reference makes of it in float32."
    )
    command = "tox exec -e NAME -- python -m common.proof NAME --lane LANE"
    return Drawn("divergence", title, caption, svg, command, provenance(latest(committed)))
