"""Separate a step's cost into a fixed part and a part for each image."""

from collections import OrderedDict

import numpy as np

from common.bench import contenders as named

LEAST = 3  # batch sizes that a fit needs


def fit(sizes, seconds):
    """(seconds per step, seconds per image, largest relative error of a measured step).

    seconds: per step, for each batch size. The fit minimises squared relative errors; neither cost
    is negative.
    """
    sizes, seconds = np.float64(sizes), np.float64(seconds)
    parts = np.stack([1 / seconds, sizes / seconds], 1)  # each cost's share of a step, per unit
    costs = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)[0]
    if costs.min() < 0:  # set it to 0 and fit only the other
        alone = parts[:, costs.argmax()]
        costs = np.where(costs == costs.max(), alone.sum() / alone.dot(alone), 0)
    return float(costs[0]), float(costs[1]), float(abs(parts.dot(costs) - 1).max())


def fits(contenders):
    """{contender without its batch size: its fit}, for contenders with enough batch sizes."""
    groups = OrderedDict()
    for key, result in contenders.items():
        alike = named.read(key)._replace(batch_size=None).text
        groups.setdefault(alike, []).append(result)
    known = OrderedDict()
    for key, group in groups.items():
        group = sorted(group, key=lambda result: result["batch_size"])
        sizes = [result["batch_size"] for result in group]
        if len(sizes) >= LEAST:
            times = [np.concatenate(result["seconds_per_step"]) for result in group]
            seconds = [float(np.median(steps)) for steps in times]
            per_step, per_image, error = fit(sizes, seconds)
            known[key] = OrderedDict(
                batch_sizes=sizes,
                seconds_per_step=seconds,
                peak_memory_bytes=[
                    max(process["peak_memory_bytes"] for process in result["processes"])
                    for result in group
                ],
                overhead_per_step=per_step,
                seconds_per_image=per_image,
                largest_error=error,
            )
    return known


def line(key, fit, noun):
    """A fit as a line of text. noun: images or sequences."""
    values = (1e3 * fit["overhead_per_step"], 1e6 * fit["seconds_per_image"], noun)
    costs = "%s: %.3g ms a step and %.3g ms for 1,000 %s" % ((key,) + values)
    return costs + ", to within %.0f%% from batch %d to %d" % (
        100 * fit["largest_error"],
        fit["batch_sizes"][0],
        fit["batch_sizes"][-1],
    )
