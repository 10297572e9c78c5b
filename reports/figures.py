"""The figures of runs, and of their certificates."""

import numpy as np

from common.data.figures import LIMBS
from common.networks.model import JOINTS, VALUES
from common.system.modules import MIXED
from reports.drawing import ACCENT, LINES, OTHER, YARDSTICK, Drawn, panels
from reports.provenance import provenance
from reports.table import module_is_as_it_was
from reports.tables import kind, latest, of_model, ordered

# Two widths of line, so that both lanes are seen where they agree; the third stands alone.
POINTS = 150  # of a learning curve: more cannot be seen, and make the page large
COLOURS = {"same": (ACCENT, 2.2), "best": (OTHER, 0.9), "bf16": (ACCENT, 0.9), "tf32": (OTHER, 2.2)}


def _panels(runs, title, xlabel, ylabel, draw, log=False):
    """A panel for each framework, which ``draw(axes, result)`` fills with each of its runs."""

    by_name = {}
    for run in runs:
        by_name.setdefault(run.result["framework"], []).append(run.result)
    changed = {name for name, some in by_name.items() if not all(map(module_is_as_it_was, some))}
    marked = {name + " †" * (name in changed): some for name, some in by_name.items()}

    def fill(axes, name):
        for result in marked[name]:
            draw(axes, result)

    names = list(marked)
    return panels(names, title, xlabel, ylabel, fill, log)


def _line(axes, result, steps, values):
    lane = result["lane"]
    colour, width = COLOURS[lane]
    axes.plot(steps, values, color=colour, linewidth=width, label="lane " + lane)


def _learning(axes, result):
    losses = np.array(result["losses"])
    width = max(1, len(losses) // 40)
    smooth = np.convolve(losses, np.ones(width) / width, "valid")
    steps = np.arange(width, len(losses) + 1)
    every = max(1, len(steps) // POINTS)
    _line(axes, result, steps[::every], smooth[::every])


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
    runs = ordered([run for run in committed if run.machine == machine])
    figures = []
    for number, length in enumerate(dict.fromkeys(kind(run.result) for run in runs)):
        some = [run for run in runs if kind(run.result) == length]
        title = "Learning curves, %s: %s" % (length, machine)
        caption = "Training loss of each step, with dropout; a moving mean over a 40th of the run."
        svg = _panels(some, title, "step", "training loss", _learning)
        command = "tox run -e NAME -- --lane LANE" + _options(some[0].result)
        key = "learning-%s-%d" % (machine, number)
        figures.append(Drawn(key, title, caption, svg, command, provenance(some)))
    return figures


def _options(result):
    """The options of the command line that make a run of the same kind."""
    hp, settings = result["hyperparameters"], result["settings"]
    said = " --train-images %d --epochs %d" % (result["dataset"]["train_images"], hp["epochs"])
    said += " --seed %d" % hp["seed"] if hp.get("seed") else ""
    said += " --dropout off" if not any(hp["dropout"]) else ""
    said += " --workers %d" % settings["workers"] if settings.get("workers", 1) > 1 else ""
    fewer = settings["threads"] != result["machine"]["cores"]
    return said + (" --threads %d" % settings["threads"] if fewer else "")


def sample(runs, model):
    """Each framework's prediction for the first test observation: [a figure], or []."""
    draw = {VALUES: _free_run, JOINTS: _joints}.get(model.task)
    runs = latest(of_model(runs, model))
    if not draw or not runs:
        return []
    epochs = max(run.result["hyperparameters"]["epochs"] for run in runs)
    command = "tox run -e NAME -- --model %s --lane LANE --epochs %d" % (model.name, epochs)
    return [draw(runs, model, command)]


def _free_run(runs, model, command):
    """How each framework's network continues a sine wave."""

    def draw(axes, result):
        targets, values = result["sample"]["targets"], result["sample"]["values"]
        steps = np.arange(1, len(targets) + 1)
        axes.axvline(len(targets) / 2 + 0.5, color=LINES, linewidth=0.8)
        if result["lane"] == "same":
            style = {"color": YARDSTICK, "linewidth": 4, "alpha": 0.5}
            axes.plot(steps, targets, label="the wave", **style)
        _line(axes, result, steps, values)

    title = "%s, free run: %s" % (model.title, runs[0].machine)
    svg = _panels(runs, title, "step", "value", draw)
    caption = (
        "The first test sequence. Left of the line the network is given the wave and predicts the "
        "next value; right of it, it is given its own last prediction."
    )
    key = "%s-%s" % (model.name, runs[0].machine)
    return Drawn(key, title, caption, svg, command, provenance(runs))


def _joints(runs, model, command):
    """The joints that each framework finds in a figure."""
    bones = [(start, end) for start, end, _, _ in LIMBS if start != end]

    def draw(axes, result):
        targets = np.reshape(result["sample"]["targets"], (-1, 3))
        joints = np.reshape(result["sample"]["values"], (-1, 2))
        axes.set_aspect("equal")
        if result["lane"] == "same":
            x, y, visible = targets.T
            style = {"color": YARDSTICK, "markersize": 9, "alpha": 0.5}
            axes.plot(x[visible > 0], -y[visible > 0], "o", label="visible joints", **style)
        colour, width = COLOURS[result["lane"]]
        label = "lane " + result["lane"]
        for bone in bones:
            x, y = joints[list(bone)].T
            axes.plot(x, -y, color=colour, linewidth=width, label=label)

    title = "%s, predicted joints: %s" % (model.title, runs[0].machine)
    svg = _panels(runs, title, "x, sides of the image", "y", draw)
    caption = "The first test figure: its visible joints, and the joints that the network finds."
    key = "%s-%s" % (model.name, runs[0].machine)
    return Drawn(key, title, caption, svg, command, provenance(runs))


def divergence(committed):
    """How far each framework's losses are from float64, of the latest certificates; or None."""
    runs = [run for run in latest(committed) if run.result["lane"] not in MIXED]
    if not runs:
        return None
    title = "How far is each framework from the float64 reference?"
    svg = _panels(
        runs,
        title,
        "step",
        "difference of the loss (logarithmic)",
        _divergence,
        log=True,
    )
    caption = (
        "The difference of the loss from the NumPy reference in float64, for each of the 20 steps "
        "of the trajectory rung, dropout off. Grey: the same reference in float32."
    )
    command = "tox exec -e NAME -- python -m common.proof NAME --lane LANE"
    return Drawn("divergence", title, caption, svg, command, provenance(runs))
