"""Changes of speed since an earlier bench on the same machine."""

import json
import os
from collections import OrderedDict

import jsonschema
import numpy as np

from common.bench import compare
from common.system.errors import InputError
from common.system.files import ROOT

SCHEMA = os.path.join(ROOT, "reports", "bench.schema.json")
TOGETHER = 3  # the median of so many unchanged contenders shows the machine's speed
# The fields that are equal in an unchanged contender.
AS_IT_WAS = ("source_sha256", "versions", "settings", "cpu_switches", "allocator")
SAME = ("model", "threads", "batch_size")  # must be equal in both benches, like the machine


def read(path):
    """The content of a bench's result file; InputError names the fault."""
    try:
        with open(path) as file:
            bench = json.load(file)
        with open(SCHEMA) as file:
            jsonschema.validate(bench, json.load(file))
    except OSError as error:
        raise InputError("%s: %s" % (path, error.strerror))
    except ValueError as error:
        raise InputError("%s is not JSON: %s" % (path, error))
    except jsonschema.ValidationError as error:
        raise InputError("%s is not the result of a bench: %s" % (path, error.message[:100]))
    for key, contender in bench["contenders"].items():
        if sum(len(run) for run in contender["seconds_per_step"]) != len(bench["rounds"]):
            raise InputError("%s: %s was not timed in every round" % (path, key))
    return bench


def check(earlier, path, **now):
    """InputError unless the earlier bench has the same machine, model, threads and batch size."""
    for key in ("cpu", "cores", "gpus", "cpu_family", "cpu_model", "isa"):
        then, here = earlier["machine"].get(key), now["machine"].get(key)
        if None not in (then, here) and then != here:  # older ones lack a CPU's family
            both = (path, key, then, here)
            raise InputError("%s comes from another machine: %s %r, not %r" % both)
    for key in SAME:
        if earlier[key] != now[key]:
            both = (path, key.replace("_", " "), earlier[key], now[key])
            raise InputError("%s has another %s: %r, not %r" % both)


def unchanged(bench, earlier, both):
    """The contenders whose module, versions and settings are the same in two benches."""

    def identity(of, key):
        process = of["contenders"][key]["processes"][-1]
        return [process.get(name) or None for name in AS_IT_WAS]

    return [key for key in both if identity(bench, key) == identity(earlier, key)]


def log_speeds(bench, key):
    """A contender's log speed in each round."""
    return -np.log(np.concatenate(bench["contenders"][key]["seconds_per_step"]))


def speeds(bench, both, usual):
    """({contender: its log speeds by a yardstick}, the yardstick's log speeds in matrix products).

    There is one speed per round, in a list for each run. usual: {unchanged contender: its log speed
    in the earlier bench}. The yardstick is the median of what they have gained since; with fewer
    than ``TOGETHER`` it is the matrix product.
    """
    own = [log_speeds(bench, key) for key in both]
    product = np.log([speed["matmul_flops"] for speed in bench["rounds"]])
    alike = [logs - usual[key] for key, logs in zip(both, own) if key in usual]
    yardstick = np.median(alike, 0) if len(alike) >= TOGETHER else product
    runs = bench["contenders"][both[0]]["seconds_per_step"]
    ends = np.cumsum([len(run) for run in runs])[:-1]
    relative = {key: np.split(logs - yardstick, ends) for key, logs in zip(both, own)}
    return relative, np.split(yardstick - product, ends)


def since(bench, earlier):
    """The changes in speed of the contenders that are in both benches.

    A machine is not equally fast on two days. Unchanged contenders are the best measure: if all of
    them slow down, the cause is the machine or something they share. This change is ``together``.
    A matrix product may slow down by some percent more or less.
    """
    both = [key for key in bench["contenders"] if key in earlier["contenders"]]
    same = unchanged(bench, earlier, both)
    usual = {key: np.median(log_speeds(earlier, key)) for key in same}
    now, all_now = speeds(bench, both, usual)
    before, all_before = speeds(earlier, both, usual)
    result = OrderedDict(made=earlier["made"])
    if len(same) >= TOGETHER:
        result["together"] = _change(all_now, all_before)
    result["changes"] = OrderedDict((key, _change(now[key], before[key])) for key in both)
    return result


def _change(now, before):
    value, interval = compare.change(now, before)
    return OrderedDict(ratio=value, interval=interval, verdict=compare.verdict(interval))


def summary(against):
    """The changes, as a few lines of text."""
    together, yardstick = against.get("together"), "matrix product"
    rows = list(against["changes"].items())
    if together:
        rows.insert(0, ("that, per %s" % yardstick, together))
        yardstick = "median of the unchanged contenders"
    lines = ["", "against the bench of %s, per %s:" % (against["made"], yardstick)]
    for name, effect in rows:
        ratio = "%.3f (%.3f to %.3f)" % (effect["ratio"], *effect["interval"])
        lines.append("%-24s %-26s %s" % (name, ratio, effect["verdict"]))
    return "\n".join(lines)
