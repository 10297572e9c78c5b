"""The effects in a study, as JSON values and as text."""

from collections import OrderedDict

import numpy as np

from common.lessons import differences, switches
from common.run import results

PLAIN = "plain"  # the key of the unchanged training


def effects(measured, images):
    """The spread of the trainings, and each switch's difference from the plain ones.

    images: how many test images an accuracy counts.
    A switch that only affects prediction uses the plain trainings' weights and varies less, so the
    residual leaves it out.
    """
    plain = measured[PLAIN]
    points = [100 * run["accuracy"] for run in plain.values()]
    mean, interval = differences.student(points)
    deviation = float(np.std(points, ddof=1)) if len(points) > 1 else None
    thrown = [(key, switch) for key, switch in switches.SWITCHES.items() if key in measured]
    trained = {key: measured[key] for key, switch in thrown if not switch.predicts}
    chance = differences.residual(dict(trained, plain=plain))
    least = 100 * results.rounding(images)
    compared = OrderedDict(
        (key, differences.paired(plain, measured[key], chance if key in trained else None, least))
        for key, _ in thrown
    )
    return {
        "plain": {"mean": mean, "interval": interval, "standard_deviation": deviation},
        "residual": chance and dict(zip(("standard_deviation", "degrees_of_freedom"), chance)),
        "differences": OrderedDict((key, effect) for key, effect in compared.items() if effect),
    }


def summary(result):
    """A study as a few lines of text."""
    plain, seeds = result["plain"], len(result["measured"][PLAIN])
    values = (plain["mean"], seeds, plain["standard_deviation"])
    lines = ["", "plain      %.2f%%, mean of %d seeds; standard deviation %.2f points" % values]
    residual = result["residual"]
    if residual:
        values = residual["standard_deviation"], residual["degrees_of_freedom"]
        lines.append(
            "chance     %.2f points beside seed and switch; %d degrees of freedom" % values
        )
    lines.append("difference from plain in points, paired by seed, with the 95% interval:")
    for key, effect in result["differences"].items():
        switch = switches.SWITCHES[key]
        values = (switch.lesson, switch.says, effect["mean"], *effect["interval"])
        values += (len(effect["points"]), effect["verdict"])
        lines.append("%-13s %-31s %+6.2f (%+.2f to %+.2f), %d seeds: %s" % values)
    return "\n".join(lines)
