"""What became faster or slower since an earlier bench on the same machine."""

import json
import os
from collections import OrderedDict

import jsonschema
import numpy as np

from common.bench import compare
from common.host.errors import InputError
from common.host.files import ROOT

SCHEMA = os.path.join(ROOT, "reports", "bench.schema.json")
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
            told = (path, key, earlier["machine"][key], now["machine"][key])
            raise InputError("%s is of another machine: %s %r, not %r" % told)
    for key in SAME:
        if earlier[key] != now[key]:
            told = (path, key.replace("_", " "), earlier[key], now[key])
            raise InputError("%s has another %s: %r, not %r" % told)


def speeds(found, key):
    """For each run the log speeds of a contender, in the matrix products of the same rounds.

    A machine is not equally fast on two days; its matrix product tells by how much.
    """
    product = [one["matmul_flops"] for one in found["rounds"]]
    logs, first = [], 0
    for run in found["contenders"][key]["seconds_per_step"]:
        logs.append(-np.log(np.multiply(run, product[first : first + len(run)])))
        first += len(run)
    return logs


def changes(found, earlier):
    """{contender: ratio of speed, interval and verdict} of those that are in both."""
    both = [key for key in found["contenders"] if key in earlier["contenders"]]
    changed = OrderedDict()
    for key in both:
        value, interval = compare.change(speeds(found, key), speeds(earlier, key))
        changed[key] = OrderedDict(
            ratio=value, interval=interval, verdict=compare.verdict(interval)
        )
    return changed


def summary(changed, earlier):
    """The changes in a few lines of text."""
    lines = ["", "against the bench of %s, per matrix product:" % earlier["made"]]
    for key, one in changed.items():
        ratio = "%.3f (%.3f to %.3f)" % ((one["ratio"],) + tuple(one["interval"]))
        lines.append("%-22s %-26s %s" % (key, ratio, one["verdict"]))
    return "\n".join(lines)
