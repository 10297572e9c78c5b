"""The figures of benches, profiles and lessons."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from reports.drawing import (
    COLOURS,
    LINES,
    STYLE,
    Drawn,
    intervals,
    legend,
    logarithmic,
    panels,
    svg,
)
from reports.provenance import provenance

MARKERS = "os^Dvp*"
RATIO = (
    "Speed relative to the baseline, with its 95% interval. Blue: the interval contains 1, so no "
    "difference is shown."
)


def ratios(key, title, rows, committed, command):
    """Ratios of speed; rows: (name, ratio, low, high)."""
    drawn = intervals(rows, title, "times as fast", 1)
    return Drawn(key, title, RATIO, drawn, command, provenance(committed))


def points(key, title, rows, committed, command):
    """Differences of the accuracy; rows: (name, mean, low, high)."""
    caption = (
        "The difference in accuracy, averaged over the seeds, with its 95% interval. Blue: the "
        "interval contains 0, so no difference is shown."
    )
    drawn = intervals(rows, title, "points of accuracy", 0)
    return Drawn(key, title, caption, drawn, command, provenance(committed))


def _batches(axes, sizes):
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()


def steps(key, title, fits, bench, command):
    """A step's time against the batch size; fits: {name: fit} of one bench."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 3.4))
        figure.subplots_adjust(left=0.09, right=0.99, bottom=0.14, top=0.88)
        axes = figure.subplots()
        for number, (name, fit) in enumerate(fits.items()):
            sizes = np.array(fit["batch_sizes"])
            colour = COLOURS[number % len(COLOURS)]
            marker = MARKERS[number % len(MARKERS)]
            style = {"color": colour, "markersize": 4, "label": name}
            axes.plot(sizes, fit["seconds_per_step"], marker, **style)
            fitted = fit["overhead_per_step"] + sizes * fit["seconds_per_image"]
            axes.plot(sizes, fitted, linewidth=1, color=colour)
        logarithmic(axes)
        _batches(axes, sorted({size for fit in fits.values() for size in fit["batch_sizes"]}))
        axes.set_xlabel("batch size (logarithmic)")
        axes.set_ylabel("seconds a step (logarithmic)")
        legend(figure, [axes])
        drawn = svg(figure, title)
    caption = (
        "Points: the median step. Lines: the fit, a time for each step and one for each image."
    )
    return Drawn(key, title, caption, drawn, command, provenance([bench]))


def shared(key, title, speeds, committed, command):
    """Speed against the batch size; speeds: {panel: {line: [(batch size, a second)]}}."""

    def draw(axes, panel):
        for number, (name, points_) in enumerate(speeds[panel].items()):
            sizes, seconds = zip(*sorted(points_))
            style = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 4}
            axes.plot(sizes, seconds, linewidth=1, label=name, **style)
        _batches(axes, sizes)

    drawn = panels(list(speeds), title, "batch size", "observations a second", draw, log=True)
    caption = "Both axes are logarithmic."
    return Drawn(key, title, caption, drawn, command, provenance(committed))


def spent(key, title, shares, committed, command):
    """A bar for each run, by category; shares: [(run, {category: share})]."""
    categories = list(dict.fromkeys(category for _, run in shares for category in run))
    with matplotlib.rc_context(STYLE):
        height = 1.2 + 0.22 * len(shares)
        figure = Figure(figsize=(8, height))
        figure.subplots_adjust(left=0.2, right=0.97, bottom=0.45 / height, top=1 - 0.7 / height)
        axes = figure.subplots()
        left = np.zeros(len(shares))
        for number, category in enumerate(categories):
            own = np.array([100 * run.get(category, 0) for _, run in shares])
            hatch = "////" if number >= len(COLOURS) else None
            colour = COLOURS[number % len(COLOURS)]
            style = {"color": colour, "hatch": hatch, "edgecolor": LINES, "linewidth": 0.4}
            axes.barh(range(len(shares)), own, left=left, height=0.7, label=category, **style)
            left += own
        axes.set_yticks(range(len(shares)), [run for run, _ in shares])
        axes.set_ylim(len(shares) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the profiler's sum of a step")
        legend(figure, [axes], columns=4)
        drawn = svg(figure, title)
    caption = (
        "The categories of a step's operations, by each framework's own profiler; see the table."
    )
    return Drawn(key, title, caption, drawn, command, provenance(committed))
