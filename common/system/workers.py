"""A framework's module as workers: processes that share each batch and average their gradients.

They are started by the framework's own launcher. What the first one is told it tells the others,
through sockets: some frameworks' processes wait for each other in a busy loop.
"""

import os
import shutil
import tempfile
import time
from multiprocessing.connection import Client, Listener

import frameworks
from common.system import modules
from common.system.errors import InputError

PLACE = "ROSETTA_WORKERS"  # the environment variable with the folder of the workers' socket
PATIENCE = 60  # seconds in which the first worker must be there


def environment(name, workers):
    """The tox environment in which a framework runs as so many workers; InputError without one."""
    if workers == 1:
        return name
    if name not in frameworks.WORKERS:
        told = (name, " and ".join(frameworks.WORKERS))
        raise InputError("%s: workers that share a batch are shown in %s" % told)
    return frameworks.WORKERS[name]


def _functions(name):
    return modules.load(name, "workers")


def launched():
    """Whether this process is one of several workers."""
    return PLACE in os.environ


def launch(name, workers, module, arguments):
    """Put the launcher of so many processes ``python -m module`` in place of this process."""
    environ = dict(os.environ, **{PLACE: tempfile.mkdtemp()})
    command = _functions(name).launcher(workers) + ["-m", module] + arguments
    os.execvpe(command[0], command, environ)


def rank(name):
    """Which worker this process is, from 0."""
    return _functions(name).rank() if launched() else 0


def parallel(name, module, workers):
    """The module as this worker runs it; the module itself where there is one worker."""
    if workers == 1:
        return module
    functions = _functions(name).parallel(module, workers, rank(name))
    return modules.replaced(module, **functions)


class Team:
    """The workers' means to talk; of a single one, who has nobody to talk to, too."""

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
            self.first = _reached(address)

    def tell(self, what):
        """Tell all others."""
        for other in self.others:
            other.send(what)

    def answers(self):
        """What each of the others has to say."""
        return [other.recv() for other in self.others]

    def told(self):
        """What the first one tells, until it is gone."""
        try:
            while True:
                yield self.first.recv()
        except EOFError:
            return

    def answer(self, what):
        """Have something to say to the first one."""
        self.first.send(what)


def _reached(address):
    end = time.time() + PATIENCE
    while True:
        try:
            return Client(address)
        except (OSError, EOFError):
            if time.time() > end:
                raise
            time.sleep(0.05)
