"""The table of where a step's time goes, as each framework's own profiler has it."""

import re
from collections import Counter, OrderedDict
from functools import partial
from statistics import mean

from common.networks import ALL
from common.profiles import categories, kernels
from common.system.modules import MIXED
from reports import study_figures
from reports.table import CHANGED, Table, label, position, titled


def spent(profiles, machine, model):
    """Where a step's time goes, as each framework's own profiler has it."""
    rows, when, shares = [], set(), []
    mine = [one for one in profiles if one.machine == machine and one.result["model"] == model.name]
    mine.sort(key=lambda one: position(one.result))
    known = {category for one in mine for category in one.result["parts"]}
    shown = [category for category in categories.CATEGORIES if category in known]
    for one in mine:
        found = one.result
        total = sum(found["operations"].values())
        cells = [(label(found), one.path), _milliseconds(found["seconds_per_step"])]
        cells.append(_milliseconds(total))
        phases = categories.phases(found["framework"], model.name, found["operations"])
        cells += [_percent(phases.get(phase)) for phase in ("forward", "backward")]
        cells += [_percent(found["parts"].get(category)) for category in shown]
        slowest = Counter()
        for operation, seconds in found["operations"].items():
            # Without who calls it, or on what: as "CorrMM" in "CorrMM{half, ...}".
            slowest[operation.split(" > ")[-1].split("{")[0]] += seconds / total
        told = ["%s %s" % (_cut(name), _percent(share)) for name, share in slowest.most_common(3)]
        cells += [
            _convolved(found),
            _kernels(found),
            _percent(_filled(found)),
            _limit(found, model),
        ]
        rows.append(cells + ["; ".join(told)])
        when.add(found["made"][:10])
        shares.append((label(found), {name: found["parts"].get(name, 0) for name in shown}))
    command = "tox run -e profile -- NAME"
    command += "" if model is ALL["cnn"] else " --model " + model.name
    note = (
        "From each framework's own profiler ({}): `{}`. Step: without "
        "the profiler, the median of some passes. Its sum: of all that the profiler tells of a "
        "step; above the step where threads add up or the profiler slows it, below it where "
        "something is not told. Forward, backward and the categories are shares of that sum. A "
        "category has all that is computed in the same operation, such as a bias or a ReLU after a "
        "convolution; not told apart: operations of several categories, or of an unknown one; "
        "other: the rest; -: nothing was told. "
        "The convolutions' speed: their operations over their share of the step, or of the sum if "
        "that is less; in brackets, the part of the speed of NumPy's matrix product. Kernels: what "
        "oneDNN says it computes the convolutions with. Not padding: of their arithmetic, the part "
        "that is the network's own; where vectors of 16 numbers lie along the channels, 50 of them "
        "take 64, and 100 take 112; of 8 numbers, 56 and 104. Of its limit: how long a step would "
        "take if all of its arithmetic, that of the padding too, ran at the speed of the matrix "
        "product and nothing else took time, over how long it takes; where oneDNN says nothing, no "
        "padding is counted. {}"
    ).format(
        ", ".join(sorted(when)),
        command,
        CHANGED,
    )
    columns = ["run", "step ", "its sum ", "forward ", "backward "] + [name + " " for name in shown]
    columns += ["convolutions' speed ", "kernels", "not padding ", "of its limit "]
    columns += ["slowest operations"]
    title = titled("Where a step's time goes: %s" % machine, model)
    key = "profile-%s-%s" % (model.name, machine)
    figure = partial(study_figures.spent, key, title, shares, mine, command)
    return Table(title, note, columns, rows, figure)


def _milliseconds(seconds):
    return "%.*f ms" % (0 if seconds >= 0.01 else 2, 1e3 * seconds)


def _percent(share):
    if share is None:
        return "-"
    return "%.0f%%" % (100 * share) if share >= 0.005 else "< 1%"


def _cut(name, most=50):
    return name if len(name) <= most else name[:most] + "…"


def _convolved(found):
    """Operations a second of a profile's convolutions, where it tells both ways apart."""
    both = [found["parts"].get(name) for name in (categories.FORWARD, categories.BACKWARD)]
    if "multiply_adds" not in found or not all(both):
        return "-"
    operations = 2 * found["batch_size"] * sum(found["multiply_adds"].values())
    told = sum(found["operations"].values())  # of several threads it is more than the step
    speed = operations / (sum(both) * min(told, found["seconds_per_step"]))
    return "%.0f GFLOP/s (%.0f%%)" % (speed / 1e9, 100 * speed / mean(found["matmul_flops"]))


def _kernels(found):
    """Which kernels oneDNN tells of, without the CPU's instructions in their names."""
    plain = [re.sub(r"^x64:|:avx\w+", "", one["kernel"]) for one in found.get("kernels", [])]
    return ", ".join(OrderedDict.fromkeys(plain)) or "-"


def _filled(found):
    """The part of the convolutions' arithmetic that is not padding; None where it is not told."""
    return kernels.own_share(found.get("kernels", []))


def _limit(found, model):
    """The least time of a step over the time that it takes; "-" off the CPU's float32."""
    if found["lane"] == MIXED or found["settings"]["device"] != "cpu":
        return "-"
    convolutions = sum(found.get("multiply_adds", {}).values())
    others = model.step_multiply_adds - convolutions
    computed = others + convolutions / (_filled(found) or 1)
    least = 2 * found["batch_size"] * computed / mean(found["matmul_flops"])
    return _percent(least / found["seconds_per_step"])
