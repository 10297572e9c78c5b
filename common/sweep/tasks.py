"""The trainings of a sweep or a study, each in the environment of its framework."""

import collections
import hashlib
import json
import os
import tempfile

from common.run import console
from common.system import commands, environments, files

Task = collections.namedtuple("Task", "key name arguments")
Task.__doc__ = """A training.

key: identifies its result.
name: the environment.
arguments: Python's, which end with ``--out`` to be completed by a path.
"""

Outcome = collections.namedtuple("Outcome", "key result error")
Outcome.__doc__ = (
    """How a task ended: with its result file's content, or a line that says why not."""
)


def seed_count(text):
    """An option's value, at least 2, because a single seed gives no interval."""
    return commands.whole_number(text, least=2)


def recipe(request, seed):
    """The options with which a training follows a request's recipe; the path is to be completed."""
    options = ["--seed", str(seed), "--data", request.data]
    options += ["--threads", str(request.threads)] if request.threads else []
    options += ["--train-images", str(request.train_images), "--epochs", str(request.epochs)]
    options += ["--test-images", str(request.test_images)] if request.test_images else []
    return options + ["--out"]


def alone(path):
    """Hold the lock on a result file: each process would overwrite what others have trained."""
    name = hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16]
    return files.locked(name, "%s: another process writes it" % console.shown(path))


def left_if_stopped(work, path):
    """While ``work`` trains, a stop says how many trainings are left, and where the others are."""
    words = "%d trainings are left, the others are in %s"
    return commands.stops_say(lambda: words % (len(work.left()), path))


def train(name, arguments):
    """(the result or None, why there is none) of a training in its environment, on this machine."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = os.path.join(folder, "result.json")
        if commands.call(environments.making(name), log):
            return None, "its environment could not be made: " + environments.last_line(log)
        failed = commands.call(environments.inside(name, *arguments, out), log)
        if failed and not os.path.isfile(out):
            return None, environments.last_line(log)
        with open(out) as file:
            result = json.load(file, object_pairs_hook=collections.OrderedDict)
        why = unproven(result)
        return (None, why) if why else (result, None)


def unproven(result):
    """Why a training's result does not count; "" if it does."""
    if result.get("status", "finished") != "finished":
        return result.get("error", "it did not finish")
    for rung in result.get("certificate", {}).get("rungs", ()):
        if not rung["passed"]:
            return "not proven: rung %s, %s" % (rung["rung"], rung["detail"] or rung["what"])
    late = result.get("late_updates", {})
    if late.get("share_of_tolerance", 0) > 1:
        return "not proven at its end: %s" % late["detail"]
    return ""


def time_left(seconds, ended, left):
    """How many trainings are left, and how long they will take, if any has ended."""
    if not left:
        return "nothing to train"
    if not ended:
        return "%d trainings; the first one shows how long they take" % left
    return "%d trainings: about %s" % (left, spell(seconds / ended * left))


def spell(seconds):
    """A time in hours and minutes."""
    hours, minutes = divmod(max(1, int(round(seconds / 60))), 60)
    return "%d h %d min" % (hours, minutes) if hours else "%d min" % minutes
