"""Run a command as workers: processes that share each batch and average gradients.

The process that the user started starts the workers and watches them. If one dies, it ends the
others and says so in one line. Only the first worker prints and writes files.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from multiprocessing.connection import Client, Listener

import frameworks
from common.system import commands, machine, modules
from common.system.errors import InputError

PLACE = "ROSETTA_WORKERS"  # the environment variable for the folder that the workers share
SEEDS = 2**16  # a worker's seed is so much larger than the one before it
PATIENCE = 60  # seconds within which the first worker must listen
GRACE = 10  # seconds for the first worker to say itself why all of them stop
PAUSE = 2  # seconds before a crash is printed: a peer's death may be the cause
FAILED = 4  # a worker's exit code where a run's is 1, which is also that of a crash
DELIBERATE = (2, 3, FAILED)  # exit codes that all workers return: 2: bad input; 3: a failed rung
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG in Linux's <sys/prctl.h>


def environment(name, workers):
    """The tox environment for so many workers of a framework; InputError if there is none."""
    if workers == 1:
        return name
    if name not in frameworks.WORKERS:
        known = ", ".join(frameworks.WORKERS)
        raise InputError("%s has no workers that share a batch; these have: %s" % (name, known))
    return frameworks.WORKERS[name]


def check(name, workers, seed):
    """InputError unless this environment can run so many workers with this seed."""
    needed = environment(name, workers)
    if needed != name and os.path.basename(sys.prefix) == name:
        raise InputError("workers of %s run in another environment: tox run -e %s" % (name, needed))
    if workers > 1 and machine.has_gpu():
        hide = "%s: workers run on CPUs here; hide the GPU with CUDA_VISIBLE_DEVICES="
        raise InputError(hide % name)
    if workers > 1 and seed + workers * SEEDS > 2**32:
        raise InputError("argument --seed: %d is too large for %d workers" % (seed, workers))


def _functions(name):
    return modules.load(name, "workers")


def check_shares(name, workers, size):
    """InputError if the framework's workers cannot share a batch of this size."""
    if size % workers and getattr(_functions(name), "EQUAL_SHARES", False):
        shares = "%d workers cannot share batches of %d equally" % (workers, size)
        raise InputError("%s: %s, as this framework needs" % (name, shares))


def launched():
    """Whether this process is one of several workers."""
    return PLACE in os.environ


def rank(name):
    """The number of this worker, from 0."""
    return _functions(name).rank() if launched() else 0


# Start workers and watch them.


def launch(name, workers, module, arguments):
    """Run ``python -m module`` as so many workers, and return their exit code."""
    return run(name, workers, [sys.executable, "-m", module] + arguments)


def run(name, workers, command):
    """Run a command as so many workers, and return their exit code: 1 if one of them died."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        children, servers = [], []
        stack.callback(lambda: _end(children + servers))  # first: starting one of them may fail
        try:
            environ = dict(os.environ, **{PLACE: place})
            _start(name, workers, command, environ, children, servers)
            code = _watch(children, servers, place)
            return 1 if code == FAILED else code
        except KeyboardInterrupt as stop:  # the first worker says so
            commands.ignore_signals()
            terminated = isinstance(stop, commands.Terminated)
            if terminated:  # Ctrl-C reaches the workers by itself
                for child in children:
                    child.terminate()
            with suppress(subprocess.TimeoutExpired, IndexError):
                children[0].wait(GRACE)
            return 143 if terminated else 130


def _start(name, workers, command, environ, children, servers):
    """Add a process for each worker, or a single one, which starts them all; and their servers."""
    environ.pop(commands.SPEAKER, None)
    functions, parent = _functions(name), os.getpid()

    def tied():
        _die_with_parent()
        if os.getppid() != parent:  # it died before that
            os._exit(1)

    def start(command, own):
        return subprocess.Popen(command, env=dict(environ, **own), preexec_fn=tied)

    if hasattr(functions, "launcher"):
        children.append(start(functions.launcher(workers, command), {}))
        return
    addresses, place = free_addresses(workers), environ[PLACE]
    for each in functions.servers(addresses, place) if hasattr(functions, "servers") else []:
        servers.append(start(*each))
    for number in range(workers):
        children.append(start(command, functions.environ(number, addresses, place)))


def free_addresses(count):
    """So many addresses of this machine on which nothing listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return ["127.0.0.1:%d" % each.getsockname()[1] for each in sockets]


def _watch(children, servers, place):
    """The exit code of all workers together, as soon as it is known."""
    codes = [None]
    while None in codes[: len(children)] and not any(codes):
        time.sleep(0.02)
        codes = [child.poll() for child in children + servers]
    if not any(codes):
        return 0
    if set(codes) & set(DELIBERATE):
        with suppress(subprocess.TimeoutExpired):
            codes[0] = children[0].wait(GRACE)
    if codes[0] in DELIBERATE or (len(children) > 1 and (codes[0] or 0) > 0):
        return codes[0]  # it has said why; a launcher alone would not
    # A signal's code is negative, and SIGKILL's is less than SIGABRT's, which follows from it.
    number = min((i for i, code in enumerate(codes) if code), key=lambda i: codes[i])
    print("error: %s" % _obituary(number, codes[number], children, place), file=sys.stderr)
    return 1


def _obituary(number, code, children, place):
    """Why a worker or the launcher ended, in one line."""
    if len(children) == 1:
        return "a worker died: the exit code of %s is %d" % (children[0].args[0], code)
    who = "worker %d of %d" % (number, len(children))
    if number >= len(children):
        who = "a server of the workers"
    if code < 0:
        return "%s was killed by %s" % (who, signal.Signals(-code).name)
    with suppress(OSError), open(_log(place, number), errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
        if lines:
            return "%s: %s" % (who, lines[-1])
    return "%s ended with exit code %d" % (who, code)


def _end(children):
    for child in children:
        if child.poll() is None:
            child.kill()
    for child in children:
        child.wait()


# In a worker.


def join(name):
    """Begin as a worker, which dies with the process that started it; the first alone prints."""
    _die_with_parent()
    sys.excepthook = _crash
    number = rank(name)
    if number:
        log = os.open(_log(os.environ[PLACE], number), os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)


def _die_with_parent():
    with suppress(AttributeError):  # not on macOS
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)


def _log(place, number):
    return os.path.join(place, "%d.log" % number)


def _crash(*error):
    time.sleep(PAUSE)  # if a peer has died, this process is ended now
    sys.__excepthook__(*error)


class Team:
    """The sockets between the first worker and the others; a single worker needs none.

    Orders go through these, because some frameworks' processes wait for each other in busy loops.
    """

    def __init__(self, name, workers):
        self.rank, self.others, self.first = rank(name), [], None
        if workers == 1:
            return
        address = os.path.join(os.environ[PLACE], "first")
        if self.rank == 0:
            with Listener(address) as listener:
                self.others = [listener.accept() for _ in range(workers - 1)]
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
