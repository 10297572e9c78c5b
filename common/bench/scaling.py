"""What a step costs whatever its batch, and what each image of it costs."""

from collections import OrderedDict

import numpy as np

from common.bench import contenders as named

LEAST = 3  # batch sizes that a fit takes


def fit(sizes, seconds):
    """(seconds per step, seconds per image, largest part by which a measured step differs).

    seconds: of a step, for each batch size. Both are fitted so that relative errors are least, and
    neither is negative.
    """
    sizes, seconds = np.float64(sizes), np.float64(seconds)
    parts = np.stack([1 / seconds, sizes / seconds], 1)  # of a step's time
    found = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)[0]
    if found.min() < 0:  # the other alone
        alone = parts[:, found.argmax()]
        found = np.where(found == found.max(), alone.sum() / alone.dot(alone), 0)
    return float(found[0]), float(found[1]), float(abs(parts.dot(found) - 1).max())


def fits(contenders):
    """{contender without its batch size: its fit} of those that were timed with several."""
    groups = OrderedDict()
    for key, one in contenders.items():
        alike = named.read(key)._replace(batch_size=None).text
        groups.setdefault(alike, []).append(one)
    found = OrderedDict()
    for key, group in groups.items():
        group = sorted(group, key=lambda one: one["batch_size"])
        sizes = [one["batch_size"] for one in group]
        if len(sizes) >= LEAST:
            seconds = [float(np.median(np.concatenate(one["seconds_per_step"]))) for one in group]
            per_step, per_image, off = fit(sizes, seconds)
            memory = [
                max(process["peak_memory_bytes"] for process in one["processes"]) for one in group
            ]
            found[key] = OrderedDict(
                batch_sizes=sizes,
                seconds_per_step=seconds,
                peak_memory_bytes=memory,
                overhead_per_step=per_step,
                seconds_per_image=per_image,
                largest_error=off,
            )
    return found


def line(key, fit, noun):
    """A fit as a line of text; ``noun``: what a batch has, images or sequences."""
    values = (1e3 * fit["overhead_per_step"], 1e6 * fit["seconds_per_image"], noun)
    costs = "%s: %.3g ms a step and %.3g ms for 1,000 %s" % ((key,) + values)
    return costs + ", to within %.0f%% from batch %d to %d" % (
        100 * fit["largest_error"],
        fit["batch_sizes"][0],
        fit["batch_sizes"][-1],
    )
