"""How a contender is named, on the command line and in result files."""

import argparse
import re
from collections import namedtuple

from common.system import commands
from common.system.errors import InputError

FORM = "NAME[:LANE[+LEVER]][/[WORKERSx]THREADS][@BATCH]"
PARTS = re.compile(
    r"(?P<name>[^:+/@]*)(:(?P<lane>[^+/@]*))?(\+(?P<lever>[^/@]*))?"
    r"(/((?P<workers>[^x@]*)x)?(?P<threads>[^@]*))?(@(?P<batch_size>.*))?$"
)

Key = namedtuple("Key", "name lane lever workers threads batch_size")
Key.__doc__ = """One contender.

name: of its environment.
lane: same or best; None for both.
lever: one that is pulled, or None.
workers: processes that share each batch; 1 if nothing is said.
threads: of each worker; None for as many as the bench has.
batch_size: None for the network's own.
"""


def read(text):
    """A contender from its name; InputError where that is none."""
    found = PARTS.match(text).groupdict()
    for part, says in (
        ("workers", "before the x stands a number of workers"),
        ("threads", "behind the / stands a number of threads"),
        ("batch_size", "behind the @ stands a batch size of 1 or more"),
    ):
        if found[part] is not None:
            try:
                found[part] = commands.whole_number(found[part])
            except (ValueError, argparse.ArgumentTypeError):
                raise InputError("%s: %s" % (text, says))
    found["workers"] = found["workers"] or 1
    return Key(**found)


def written(key):
    """A contender's name."""
    text = key.name
    text += ":" + key.lane if key.lane else ""
    text += "+" + key.lever if key.lever else ""
    if key.threads:
        text += "/%dx%d" % (key.workers, key.threads) if key.workers > 1 else "/%d" % key.threads
    return text + ("@%d" % key.batch_size if key.batch_size else "")
