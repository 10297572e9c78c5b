"""What the command lines have in common: errors of one line, whole numbers, the threads."""

import argparse
import sys

from common.host import machine
from common.host.errors import InputError


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message):
        raise InputError(message)


def whole_number(text):
    """An option's value that must be 1 or more."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("%r is not a whole number of 1 or more" % text)
    return int(text)


def thread_count(text):
    """An option's value that must be 1 to the number of cores."""
    threads, cores = whole_number(text), machine.usable_cores()
    if threads > cores:
        raise argparse.ArgumentTypeError("%s is more than the %d cores there are" % (text, cores))
    return threads


def guarded(command, arguments):
    """``command(arguments)``, its exit code; for bad input one line on stderr and exit code 2."""
    try:
        return command(arguments)
    except InputError as error:
        print("error: %s" % error, file=sys.stderr)
        return 2
