"""What became faster or slower since an earlier bench on the same machine."""

import json
import os
from collections import OrderedDict

import jsonschema
import numpy as np

from common.bench import compare
from common.system.errors import InputError
from common.system.files import ROOT

SCHEMA = os.path.join(ROOT, "reports", "bench.schema.json")
TOGETHER = 3  # unchanged contenders whose median shows the machine's speed
# What is the same in a contender that has not changed.
AS_IT_WAS = ("source_sha256", "versions", "settings", "cpu_switches")
SAME = ("model", "threads", "batch_size")  # what two benches must have in common, and the machine


def read(path):
    """The content of a bench's result file; InputError names what is wrong with it."""
    try:
        with open(path) as file:
            found = json.load(file)
        with open(SCHEMA) as file:
            jsonschema.validate(found, json.load(file))
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror))
    except ValueError as error:
        raise InputError("%s is no JSON: %s" % (path, error))
    except jsonschema.ValidationError as error:
        raise InputError("%s is no result of a bench: %s" % (path, error.message[:100]))
    for key, one in found["contenders"].items():
        if sum(len(run) for run in one["seconds_per_step"]) != len(found["rounds"]):
            raise InputError("%s: %s was not timed in every round" % (path, key))
    return found


def check(earlier, path, **now):
    """InputError unless the earlier bench was of this machine, and as this one is."""
    for key in ("cpu", "cores", "gpus"):
        if earlier["machine"][key] != now["machine"][key]:
            both = (path, key, earlier["machine"][key], now["machine"][key])
            raise InputError("%s is of another machine: %s %r, not %r" % both)
    for key in SAME:
        if earlier[key] != now[key]:
            both = (path, key.replace("_", " "), earlier[key], now[key])
            raise InputError("%s has another %s: %r, not %r" % both)


def unchanged(found, earlier, both):
    """Those of the contenders whose module, versions and settings are the same in two benches."""

    def identity(bench, key):
        process = bench["contenders"][key]["processes"][-1]
        return [process.get(name) or None for name in AS_IT_WAS]

    return [key for key in both if identity(found, key) == identity(earlier, key)]


def speeds(found, both, same):
    """({contender: its log speeds by a yardstick}, the yardstick's own in matrix products).

    Of each round, as a list for each run. The yardstick is the median of those that are the
    ``same``; with fewer than ``TOGETHER``, the matrix product is the yardstick instead.
    """
    own = [-np.log(np.concatenate(found["contenders"][key]["seconds_per_step"])) for key in both]
    product = np.log([one["matmul_flops"] for one in found["rounds"]])
    alike = [one for key, one in zip(both, own) if key in same]
    yardstick = np.median(alike, 0) if len(alike) >= TOGETHER else product
    runs = found["contenders"][both[0]]["seconds_per_step"]
    ends = np.cumsum([len(run) for run in runs])[:-1]
    relative = {key: np.split(one - yardstick, ends) for key, one in zip(both, own)}
    return relative, np.split(yardstick - product, ends)


def since(found, earlier):
    """What changed of the contenders that are in both benches.

    A machine is not equally fast on two days. Unchanged contenders show best by how much: whatever
    slows all of them down is the machine or something they share, and is given as ``together``. A
    matrix product may slow down by some percent more or less than they do.
    """
    both = [key for key in found["contenders"] if key in earlier["contenders"]]
    same = unchanged(found, earlier, both)
    (now, all_now), (before, all_before) = (speeds(one, both, same) for one in (found, earlier))
    result = OrderedDict(made=earlier["made"])
    if len(same) >= TOGETHER:
        result["together"] = _change(all_now, all_before)
    result["changes"] = OrderedDict((key, _change(now[key], before[key])) for key in both)
    return result


def _change(now, before):
    value, interval = compare.change(now, before)
    return OrderedDict(ratio=value, interval=interval, verdict=compare.verdict(interval))


def summary(against):
    """The changes in a few lines of text."""
    together, yardstick = against.get("together"), "matrix product"
    rows = list(against["changes"].items())
    if together:
        rows.insert(0, ("that, per %s" % yardstick, together))
        yardstick = "median of those that are as they were"
    lines = ["", "against the bench of %s, per %s:" % (against["made"], yardstick)]
    for name, one in rows:
        ratio = "%.3f (%.3f to %.3f)" % ((one["ratio"],) + tuple(one["interval"]))
        lines.append("%-24s %-26s %s" % (name, ratio, one["verdict"]))
    return "\n".join(lines)
