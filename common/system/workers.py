"""Run a framework's module as workers: processes that share each batch and average gradients.

The framework's own launcher starts them. The first worker forwards its orders to the others through
sockets, because some frameworks' processes wait for each other in busy loops.
"""

import os
import shutil
import tempfile
import time
from multiprocessing.connection import Client, Listener

import frameworks
from common.system import modules
from common.system.errors import InputError

PLACE = "ROSETTA_WORKERS"  # the environment variable for the folder of the workers' socket
PATIENCE = 60  # seconds within which the first worker must listen


def environment(name, workers):
    """The tox environment for so many workers of a framework; InputError if there is none."""
    if workers == 1:
        return name
    if name not in frameworks.WORKERS:
        known = " and ".join(frameworks.WORKERS)
        raise InputError("%s has no workers that share a batch; these have: %s" % (name, known))
    return frameworks.WORKERS[name]


def _functions(name):
    return modules.load(name, "workers")


def launched():
    """Whether this process is one of several workers."""
    return PLACE in os.environ


def launch(name, workers, module, arguments):
    """Replace this process by the launcher of so many processes ``python -m module``."""
    environ = dict(os.environ, **{PLACE: tempfile.mkdtemp()})
    command = _functions(name).launcher(workers) + ["-m", module] + arguments
    os.execvpe(command[0], command, environ)


def rank(name):
    """The number of this worker, from 0."""
    return _functions(name).rank() if launched() else 0


def parallel(name, module, workers):
    """The module as this worker runs it; with one worker, the module itself."""
    if workers == 1:
        return module
    functions = _functions(name).parallel(module, workers, rank(name))
    return modules.replaced(module, **functions)


class Team:
    """The sockets between the first worker and the others; a single worker needs none."""

    def __init__(self, name, workers):
        self.rank, self.others, self.first = rank(name), [], None
        if workers == 1:
            return
        address = os.path.join(os.environ[PLACE], "first")
        if self.rank == 0:
            with Listener(address) as listener:
                self.others = [listener.accept() for _ in range(workers - 1)]
            shutil.rmtree(os.environ[PLACE])
        else:
            self.first = _connect(address)

    def order(self, order):
        """Send an order to all other workers."""
        for other in self.others:
            other.send(order)

    def answers(self):
        """The answers of all other workers."""
        return [other.recv() for other in self.others]

    def orders(self):
        """The first worker's orders, until it is gone."""
        try:
            while True:
                yield self.first.recv()
        except EOFError:
            return

    def answer(self, value):
        """Send an answer to the first worker."""
        self.first.send(value)


def _connect(address):
    end = time.time() + PATIENCE
    while True:
        try:
            return Client(address)
        except (OSError, EOFError):
            if time.time() > end:
                raise
            time.sleep(0.05)
