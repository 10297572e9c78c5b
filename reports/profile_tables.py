"""The table of where a step's time goes, by each framework's own profiler."""

import re
from collections import Counter, OrderedDict
from functools import partial
from statistics import mean

from common.networks import ALL
from common.profiles import categories, kernels
from common.system.modules import MIXED
from reports import study_figures
from reports.table import Table, label, position, titled


def spent(profiles, machine, model):
    """Where a step's time goes, by each framework's own profiler."""
    mine = [
        profile
        for profile in profiles
        if profile.machine == machine and profile.result["model"] == model.name
    ]
    mine.sort(key=lambda profile: position(profile.result))
    known = {category for profile in mine for category in profile.result["parts"]}
    shown = [category for category in categories.CATEGORIES if category in known]
    rows = [_row(profile, model, shown) for profile in mine]
    when = {profile.result["made"][:10] for profile in mine}
    shares = [
        (label(profile.result), {name: profile.result["parts"].get(name, 0) for name in shown})
        for profile in mine
    ]
    command = "tox run -e profile -- NAME"
    command += "" if model is ALL["cnn"] else " --model " + model.name
    note = (
        "{}, {}: from each framework's own profiler, `{}`. Step: the median without the profiler. "
        "Its sum: the time of everything that the profiler reports for a step. It is longer than "
        "the step if the times of several threads are added or the profiler slows the step down, "
        "and shorter if the profiler misses something. Forward, backward and the categories are "
        "shares of that sum. A category includes what the same operation computes, such as a bias "
        "or a ReLU after a convolution. Not told apart: operations that belong to several "
        "categories, or to an unknown one. Other: the rest. -: not reported. "
        "The convolutions' speed: their operations divided by their share of the step, or of the "
        "sum if that is less; in brackets, relative to NumPy's matrix product. Kernels: what "
        "oneDNN reports for the convolutions. Not padding: the useful part of their arithmetic; "
        "vectors of 16 numbers along the channels pad 50 channels to 64 and "
        "100 to 112, vectors of 8 pad them to 56 and 104. Of its limit: the time that the step's "
        "arithmetic, padding included, would take at the speed of the matrix product, relative to "
        "the time of the step. If oneDNN reports nothing, no padding is counted."
    ).format(
        machine,
        ", ".join(sorted(when)),
        command,
    )
    columns = ["run", "step ", "its sum ", "forward ", "backward "] + [name + " " for name in shown]
    columns += ["convolutions' speed ", "kernels", "not padding ", "of its limit "]
    columns += ["slowest operations"]
    title = titled("Where does a step's time go?", model)
    key = "profile-%s-%s" % (model.name, machine)
    figure = partial(study_figures.spent, key, title + " " + machine, shares, mine, command)
    return Table(title, note, columns, rows, figure)


def _row(profile, model, shown):
    """The cells of a profile; shown: the categories that have a column."""
    result = profile.result
    total = sum(result["operations"].values())
    cells = [(label(result), profile.path), _milliseconds(result["seconds_per_step"])]
    cells.append(_milliseconds(total))
    phases = categories.phases(result["framework"], model.name, result["operations"])
    cells += [_percent(phases.get(phase)) for phase in ("forward", "backward")]
    cells += [_percent(result["parts"].get(category)) for category in shown]
    cells += [_convolved(result), _kernels(result), _percent(_filled(result))]
    return cells + [_limit(result, model), _slowest(result["operations"], total)]


def _slowest(operations, total):
    """The three slowest operations and their shares of the sum, in words."""
    shares = Counter()
    for operation, seconds in operations.items():
        # Without its caller or operand: "CorrMM" of "CorrMM{half, ...}".
        shares[operation.split(" > ")[-1].split("{")[0]] += seconds / total
    return "; ".join("%s %s" % (_cut(name), _percent(s)) for name, s in shares.most_common(3))


def _milliseconds(seconds):
    return "%.*f ms" % (0 if seconds >= 0.01 else 2, 1e3 * seconds)


def _percent(share):
    if share is None:
        return "-"
    return "%.0f%%" % (100 * share) if share >= 0.005 else "< 1%"


def _cut(name):
    return name if len(name) <= 50 else name[:50] + "…"


def _convolved(result):
    """Operations a second of a profile's convolutions, if it tells both directions apart."""
    both = [result["parts"].get(name) for name in (categories.FORWARD, categories.BACKWARD)]
    if "multiply_adds" not in result or not all(both):
        return "-"
    operations = 2 * result["batch_size"] * sum(result["multiply_adds"].values())
    total = sum(result["operations"].values())  # with several threads more than the step
    speed = operations / (sum(both) * min(total, result["seconds_per_step"]))
    return "%.0f GFLOP/s (%.0f%%)" % (speed / 1e9, 100 * speed / mean(result["matmul_flops"]))


def _kernels(result):
    """The kernels that oneDNN lists, without the CPU's instructions in their names."""
    plain = [re.sub(r"^x64:|:avx\w+", "", used["kernel"]) for used in result.get("kernels", [])]
    return ", ".join(OrderedDict.fromkeys(plain)) or "-"


def _filled(result):
    """The share of the convolutions' arithmetic that is not padding; None if it is unknown."""
    return kernels.own_share(result.get("kernels", []))


def _limit(result, model):
    """A step's least time over its actual time; "-" unless it is float32 on a CPU."""
    if result["lane"] in MIXED or result["settings"]["device"] != "cpu":
        return "-"
    convolutions = sum(result.get("multiply_adds", {}).values())
    others = model.step_multiply_adds - convolutions
    computed = others + convolutions / (_filled(result) or 1)
    least = 2 * result["batch_size"] * computed / mean(result["matmul_flops"])
    return _percent(least / result["seconds_per_step"])
