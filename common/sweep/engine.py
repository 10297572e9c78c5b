"""Run trainings as tasks of Ray.

Ray brings a task to a free machine, and repeats it if its worker dies. A machine needs a clone of
the project at the same commit, and ``ray start`` in the environment that runs this.
"""

import signal
import socket
import time

import ray

from common.sweep import tasks
from common.system import commands
from common.system.errors import InputError

PATIENCE = 8  # seconds for tasks to stop what they have started; tox kills a sweep after ten
RETRIES = 2  # of a task whose worker dies; a training that fails by itself is not repeated


def carry_out(waiting, land, address=None, at_once=1):
    """Run these tasks, ``at_once`` at a time on each machine; call ``land`` with each ``Outcome``.

    address: HOST:PORT of a cluster; None for this machine alone. If this is stopped, so are they.
    """
    connect(address, at_once)
    try:
        started, ended = time.perf_counter(), 0
        print("left       %s" % tasks.time_left(0, 0, len(waiting)), flush=True)
        for outcome in run(waiting, share(at_once)):
            ended += 1
            land(outcome)
            seconds, left = time.perf_counter() - started, len(waiting) - ended
            if left:
                print("left       %s" % tasks.time_left(seconds, ended, left), flush=True)
    finally:
        ray.shutdown()


def connect(address=None, at_once=1):
    """Start Ray here, with ``at_once`` places for tasks, or join the cluster at HOST:PORT.

    InputError if no cluster answers there.
    """
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        # "local", or Ray would join a cluster that happens to run here.
        place = {"address": "local", "num_cpus": at_once, "include_dashboard": False}
    else:
        host, _, port = address.rpartition(":")
        try:  # here, because Ray itself tries for minutes
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError):
            ask = "no Ray cluster answers at %s; start one with: ray start --head"
            raise InputError(ask % address)
        place = {"address": address}
    with commands.handlers_kept():  # Ray would print its own stack at SIGTERM
        try:
            ray.init(**place, **quiet)
        except SystemExit:  # by Ray's own handler of SIGTERM, which it sets before it starts
            raise commands.Terminated()


def share(at_once=1):
    """The CPUs of Ray that a task takes, so that each machine runs ``at_once`` at a time.

    InputError if the machines have different numbers of them.
    """
    cpus = {node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]}
    if len(cpus) > 1 or not max(cpus):
        counts = ", ".join("%g" % count for count in sorted(cpus))
        ask = "Ray has machines of %s CPUs; start it on each with: ray start --num-cpus 1 ..."
        raise InputError(ask % counts)
    return max(cpus) / at_once


def run(waiting, cpus):
    """Yield each task's ``Outcome`` as it ends. cpus: from ``share``.

    If the caller stops, what still runs is stopped too.
    """
    remote = ray.remote(num_cpus=cpus, max_retries=RETRIES, scheduling_strategy="SPREAD")
    submit = remote(train).remote
    running = {}
    try:
        for task in waiting:
            running[submit(task.name, task.arguments)] = task.key
        while running:
            commands.check_interrupt()
            ended, _ = ray.wait(list(running), timeout=1)  # the first to end, if one has ended
            for task in ended:
                key = running.pop(task)
                try:
                    yield tasks.Outcome(key, *ray.get(task))
                except ray.exceptions.RayTaskError as error:  # its last line says what happened
                    yield tasks.Outcome(key, None, str(error).strip().split("\n")[-1])
                except ray.exceptions.RayError as error:
                    died = "its worker died: %s" % str(error).split("\n")[0]
                    yield tasks.Outcome(key, None, died)
    finally:
        with commands.signals_ignored():  # a second Ctrl-C must not leave a training behind
            stop(list(running))


def train(name, arguments):
    """``tasks.train`` in a worker, which Ray interrupts like Ctrl-C to cancel it."""
    # A worker of a sweep that was started with "&" in a script would ignore that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return tasks.train(name, arguments)


def stop(running):
    """Cancel tasks, those that wait first, so that none begins; kill those that do not end."""
    for task in reversed(running):
        ray.cancel(task)
    if running:
        _, left = ray.wait(running, num_returns=len(running), timeout=PATIENCE)
        for task in left:  # Ray aborts this process if the result of a killed task arrives
            ray.cancel(task, force=True)
