"""The frameworks' environments: tox makes them, and runs commands in them."""

import os
import re
import signal
import sys

from common.system import commands
from common.system.errors import InputError

TOX = (os.environ.get("ROSETTA_TOX", sys.executable), "-m", "tox")  # the tox that started this


def make(names):
    """Make missing environments with tox; InputError if one cannot be made."""
    for name in names:
        if commands.call(making(name)):
            raise InputError("%s: its environment could not be made (see above)" % name)


def fault(name):
    """Why an environment cannot be made; None if it is made."""
    try:
        make([name])
    except InputError as error:
        return str(error)
    return None


def making(name):
    """The command that makes an environment if it is missing."""
    return [*TOX, "run", "-e", name, "--notest"]


def inside(name, *arguments):
    """The command that runs Python with these arguments in an environment."""
    return [*TOX, "exec", "-qq", "-e", name, "--", "python", *arguments]


def printed(log):
    """The text in an open log, from its start."""
    log.seek(0)
    return log.read().decode(errors="replace")


def reason(code, log):
    """Why a child process failed: its error, or else the signal and the last line."""
    lines = [line for line in printed(log).splitlines() if line.startswith("error: ")]
    said = re.sub("^error: ", "", lines[-1] if lines else last_line(log))
    if code >= 0:
        return said
    known = {number.value: number.name for number in signal.Signals}
    return "it was ended by %s: %s" % (known.get(-code, "signal %d" % -code), said)


def last_line(log):
    """The last line that was printed in an environment, not counting tox's own."""
    lines = [line.strip() for line in printed(log).splitlines()]
    lines = [line for line in lines if line and not re.match(r"\S+: exit -?\d+ \(", line)]
    return lines[-1] if lines else "it said nothing"
