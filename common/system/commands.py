"""Shared code for command lines: one-line errors, signals, numbers, threads."""

import argparse
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

from common.system import machine
from common.system.errors import InputError

# The variable with the id of the process that prints why it and its children were stopped.
SPEAKER = "ROSETTA_SPEAKER"

_interrupts = []  # raised while a command ran

# Help for the options that several commands have.
DATA_HELP = "find or download the data set (default), generate images, or read your own copy"
LANE_HELP = (
    "the settings. same: plain float32, alike in every framework; best: what an expert would set; "
    "bf16, tf32: best with products of bfloat16, of TF32 (default: %(default)s)"
)
MODEL_HELP = "the network (default: %(default)s)"

NOT_TEXT = "a file of options (@FILE) is not text"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message):
        raise InputError(message if len(message) < 300 else message[:300] + " ...")

    def parse_args(self, args=None, namespace=None):
        """As in argparse, but a file of options, @FILE, must be text."""
        try:
            return super().parse_args(args, namespace)
        except UnicodeDecodeError:  # Python before 3.12
            self.error(NOT_TEXT)

    def parse_known_args(self, args=None, namespace=None):
        """As in argparse, but no value may be empty, such as a shell's "$OUT" that is not set."""
        found, rest = super().parse_known_args(args, namespace)
        for action in self._actions:
            values = getattr(found, action.dest, None)
            if action.default != "" and "" in (values if isinstance(values, list) else [values]):
                name = "/".join(action.option_strings) or action.metavar or action.dest
                self.error("argument %s: it is empty" % name)
        return found, rest

    def convert_arg_line_to_args(self, arg_line):
        """One option per line, as in argparse."""
        if not arg_line.replace("\t", "").isprintable():
            self.error(NOT_TEXT)
        return super().convert_arg_line_to_args(arg_line) if arg_line.strip() else []


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def whole_number(text, least=1):
    """An option's value that must be ``least`` or more."""
    if not text.isdigit() or int(text) < least:
        raise argparse.ArgumentTypeError("%r is not a whole number of %d or more" % (text, least))
    return int(text)


def between_0_and(most, what):
    """The type of an option whose value must be above 0 and below ``most``; what: in words."""

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = 0
        if not 0 < value < most:
            raise argparse.ArgumentTypeError("%r is not %s" % (text, what))
        return value

    return read


def count(text):
    """An option's value that may be 0."""
    return whole_number(text, least=0)


def thread_count(text):
    """An option's value that must be 1 to the number of cores."""
    threads, cores = whole_number(text), machine.usable_cores()
    if threads > max(cores, machine.default_threads()):
        raise argparse.ArgumentTypeError("%s is more than the machine's %d cores" % (text, cores))
    return threads


def add_threads(parser):
    """The option ``--threads`` of commands that compute."""
    parser.add_argument(
        "--threads",
        type=thread_count,
        default=machine.default_threads(),
        metavar="N",
        help="CPU threads; default: one per core",
    )


def add_workers(parser):
    """The option ``--workers`` of commands that train; workers share the cores."""
    add_threads(parser)
    parser.set_defaults(threads=None)
    workers_help = "share each batch among N processes, each with --threads threads"
    parser.add_argument("--workers", type=whole_number, default=1, metavar="N", help=workers_help)


def threads(asked, processes):
    """The threads of each of some processes: as many as asked for, or its share of the cores."""
    return asked or max(1, machine.default_threads() // processes)


def guarded(command, arguments):
    """The exit code of ``command(arguments)``; for bad input, one line on stderr and exit code 2.

    A stopped command also prints one line; the exit code is 130 for Ctrl-C and 143 for SIGTERM.
    Ctrl-C reaches children too; a guarded child leaves the line to its parent.
    """
    speaker = os.environ.get(SPEAKER)
    os.environ[SPEAKER] = str(os.getpid())
    before = _handlers()
    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # nohup, or "&" in a script, ignores signals
            signal.signal(number, _interrupt)
    try:
        return command(arguments)
    except InputError as error:
        print("error: %s" % printable(str(error)), file=sys.stderr)
        return 2
    except BrokenPipeError:  # such as "| head"; nothing is left that could be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except BaseException as error:
        stop = interrupt_in(error)
        if stop is None:
            raise
        ignore_signals()
        before = {}
        if speaker != str(os.getppid()):
            print("error: %s" % reason(stop), file=sys.stderr)
        return 143 if isinstance(stop, Terminated) else 130
    finally:
        _restore(before)
        _interrupts.clear()
        os.environ.pop(SPEAKER)
        if speaker is not None:
            os.environ[SPEAKER] = speaker


def printable(line):
    """A line with names from a stranger's file, without characters that a terminal obeys.

    Nor does it have characters that stdout cannot write.
    """
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    code = getattr(sys.stdout, "encoding", None) or "utf-8"
    return line.encode(code, "replace").decode(code)


def call(command, log=None, **options):
    """Run a child process, and return its exit code. If this process is stopped, so is the child.

    So are the child's own children: tox ends at SIGTERM and leaves what it has started.
    log: an open file for its output. options: for ``subprocess.Popen``.
    """
    child = None
    try:
        with signals_wait():  # else a signal leaves behind a child that has just started
            child = subprocess.Popen(command, stdout=log, stderr=log, **options)
        while True:
            # In turns, because Ray's interrupt is no signal and cannot end a single long wait.
            with suppress(subprocess.TimeoutExpired):
                return child.wait(timeout=1)
    except BaseException:
        if child is not None:
            with signals_ignored():  # a second Ctrl-C must not leave the child behind
                end_family(child)
        raise


def end_family(child):
    """End a child process and its descendants; after five seconds, kill those that are left.

    Without psutil, a child that runs ``guarded`` ends its own children.
    """
    try:
        import psutil  # here, because dump, compare and check do without it
    except ImportError:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(5)
        child.kill()
        child.wait()
        return
    family = []
    with suppress(psutil.NoSuchProcess):
        family.append(psutil.Process(child.pid))
        family += family[0].children(recursive=True)
    for order in (psutil.Process.terminate, psutil.Process.kill):
        for process in family:
            with suppress(psutil.NoSuchProcess):
                order(process)
        psutil.wait_procs(family, timeout=5)
    child.wait()


def _handlers():
    """{signal: its handler} of Ctrl-C and SIGTERM."""
    return {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}


def _restore(handlers):
    for number, handler in handlers.items():
        signal.signal(number, handler or signal.SIG_DFL)  # None for a handler that is not Python's


def _interrupt(number, frame):
    _interrupts.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
    raise _interrupts[-1]


def check_interrupt():
    """Raise an interrupt again if a library has swallowed it.

    NumPy, for example, drops exceptions raised while it asks another library's array for a buffer.
    """
    if _interrupts:
        raise _interrupts[-1]


@contextmanager
def signals_wait():
    """Make Ctrl-C and SIGTERM take effect only after the block.

    A signal mask is not enough: another thread takes the blocked signal, and Python still raises it
    in this thread.
    """
    caught, before = [], _handlers()
    try:
        for number, handler in before.items():
            if callable(handler):  # SIG_IGN and SIG_DFL are not
                signal.signal(number, lambda number, frame: caught.append(number))
        yield
    finally:
        _restore(before)
        for number in caught:
            before[number](number, None)


def interrupt_in(error):
    """The Ctrl-C or SIGTERM that is or caused ``error``; None if there is none.

    SWIG's wrappers turn an interrupt in a callback from C++ into a SystemError, and Ray turns each
    into a Ctrl-C.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return _interrupts[-1] if error is not None and _interrupts else error


@contextmanager
def handlers_kept():
    """After the block, Ctrl-C and SIGTERM are handled as before it."""
    before = _handlers()
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def signals_ignored():
    """Ignore Ctrl-C and SIGTERM while the block runs, in a guarded command's own process.

    Other processes, such as those that a library starts for tasks, have handlers of their own.
    """
    if os.environ.get(SPEAKER) != str(os.getpid()):
        yield
        return
    with handlers_kept():
        ignore_signals()
        yield


def ignore_signals():
    """Let a stopped command clean up, even if a second signal comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def stops_say(words):
    """Add ``words()`` to why a command is stopped in the block."""
    try:
        yield
    except BaseException as error:
        stop = interrupt_in(error)
        if stop is None:
            raise
        stop.args = ("%s; %s" % (reason(stop), words()),)
        raise stop


def reason(stop):
    """Why a command was stopped, in words."""
    if stop.args:
        return str(stop)
    return "stopped by %s" % ("SIGTERM" if isinstance(stop, Terminated) else "Ctrl-C")
