"""Run trainings as tasks of Ray, each in the environment of its framework.

Ray brings a task to a free node, and repeats it if its worker dies. A node needs a clone of the
project at the same commit, and ``ray start`` in the environment that runs this.
"""

import collections
import json
import os
import socket
import tempfile

import ray

from common.system import commands, environments
from common.system.errors import InputError

RETRIES = 2  # of a task whose worker dies; a training that fails by itself fails once and for all

Task = collections.namedtuple("Task", "key name arguments")
Task.__doc__ = """A training.

key: what its result is known by.
name: the environment.
arguments: Python's, which end with ``--out`` to be completed by a path.
"""

Outcome = collections.namedtuple("Outcome", "key result error")
Outcome.__doc__ = (
    """How a task ended: with its result file's content, or with a line that says why not."""
)


def connect(address=None, at_once=1):
    """Start Ray here, with ``at_once`` places for tasks, or join the cluster at HOST:PORT.

    InputError if no cluster answers there.
    """
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        ray.init(num_cpus=at_once, include_dashboard=False, **quiet)
        return
    host, _, port = address.rpartition(":")
    try:  # here, because Ray itself asks for minutes
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError):
        raise InputError("no Ray cluster answers at %s; start one with: ray start --head" % address)
    ray.init(address=address, **quiet)


def share(at_once=1):
    """The CPUs of Ray that a task takes, so that each node runs ``at_once`` at a time."""
    cpus = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    return min(cpus) / at_once


def run(tasks, cpus):
    """Yield each task's ``Outcome`` as it ends. cpus: from ``share``.

    If the caller stops, what still runs is stopped too.
    """
    remote = ray.remote(num_cpus=cpus, max_retries=RETRIES, scheduling_strategy="SPREAD")(train)
    waiting = {remote.remote(task.name, task.arguments): task.key for task in tasks}
    try:
        while waiting:
            (ended,), _ = ray.wait(list(waiting), num_returns=1)
            key = waiting.pop(ended)
            try:
                yield Outcome(key, *ray.get(ended))
            except ray.exceptions.RayError as error:
                yield Outcome(key, None, "its worker died: %s" % str(error).split("\n")[0])
    finally:
        for running in waiting:
            ray.cancel(running, force=True)


def stop():
    """Leave the cluster; one that ``connect`` has started here ends."""
    ray.shutdown()


def train(name, arguments):
    """(the result or None, why there is none) of a training in its environment, on this node."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = os.path.join(folder, "result.json")
        if commands.call(environments.making(name), log):
            return None, "its environment could not be made: " + environments.last_line(log)
        if commands.call(environments.inside(name, *arguments, out), log):
            return None, environments.last_line(log)
        with open(out) as file:
            return json.load(file, object_pairs_hook=collections.OrderedDict), None
