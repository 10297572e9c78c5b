"""Contenders: their names, and which of them a command line means."""

import argparse
import re
from collections import OrderedDict
from typing import NamedTuple, Optional

import frameworks
from common import networks
from common.proof import contract
from common.system import commands, debian, interpreter, machine, modules, workers
from common.system.errors import InputError

FORM = "NAME[@PYTHON][:LANE[+LEVER]][/[WORKERSx]THREADS][@BATCH]"
PARTS = re.compile(
    r"(?P<name>[^:+/@]*)(@(?P<python>[./~][^:]*?(?=:|@\d+$|$)))?(:(?P<lane>[^+/@]*))?(\+(?P<lever>[^/@]*))?"
    r"(/((?P<workers>[^x@]*)x)?(?P<threads>[^@]*))?(@(?P<batch_size>.*))?$",
    re.DOTALL,
)


class Contender(NamedTuple):
    """A framework in a lane.

    name: its environment.
    lane: None for both lanes.
    lever: one of the framework's levers, or None.
    workers: processes that share each batch.
    threads: for each worker; None for the bench's number.
    batch_size: None for the network's own.
    python: an interpreter of the user's, instead of the environment; None for the environment.
    """

    name: str
    lane: Optional[str] = None
    lever: Optional[str] = None
    workers: int = 1
    threads: Optional[int] = None
    batch_size: Optional[int] = None
    python: Optional[str] = None

    @property
    def text(self):
        """Its name on the command line and in results."""
        text = self.name
        text += "@" + self.python if self.python else ""
        text += ":" + self.lane if self.lane else ""
        text += "+" + self.lever if self.lever else ""
        if self.threads:
            both = (self.workers, self.threads)
            text += "/%dx%d" % both if self.workers > 1 else "/%d" % self.threads
        return text + ("@%d" % self.batch_size if self.batch_size else "")

    @property
    def environment(self):
        """The tox environment in which it runs, or starts."""
        if self.python:
            return interpreter.ENVIRONMENT
        return workers.environment(self.name, self.workers)


def read(text):
    """A contender from its name; InputError if that is not one."""
    values = PARTS.match(text).groupdict()
    for part, fault in (
        ("workers", "the number of workers belongs before the x"),
        ("threads", "a number of threads belongs after the /"),
        ("batch_size", "a batch size of 1 or more belongs after the @"),
    ):
        if values[part] is not None:
            try:
                values[part] = commands.whole_number(values[part])
            except (ValueError, argparse.ArgumentTypeError):
                raise InputError("%s: %s" % (text, fault))
    values["workers"] = values["workers"] or 1
    if values["python"]:
        values["python"] = interpreter.absolute(values["python"])
    return Contender(**values)


def in_lane(text, what):
    """A contender that is NAME or NAME:LANE, in lane best by default; InputError for any other.

    what: for which it must be so, such as "a sweep".
    """
    contender = read(text)
    if contender._replace(lane=None) != Contender(contender.name):
        raise InputError("%s: %s takes NAME or NAME:LANE" % (text, what))
    if contender.lane == modules.PLAIN:
        raise InputError("%s: nothing proves a plain script, so %s cannot have it" % (text, what))
    return contender._replace(lane=contender.lane or "best")


def resolve(names, model, threads, batch_sizes=None, levers=False):
    """{text: contender} for all that a command line names; InputError if any cannot run here.

    names: contenders, as ``read`` takes them.
    levers: names are environments instead; take the best lane of each, plain and with each lever.
    batch_sizes: take each contender with each of these.
    """
    named = [read(name) for name in names] if not levers else []
    if levers:
        named = [contender for name in names for contender in _with_levers(name, model)]
    if levers and batch_sizes and len(batch_sizes) > 1:
        raise InputError("--levers takes one batch size")
    if batch_sizes:
        sized = [contender.text for contender in named if contender.batch_size]
        if sized:
            raise InputError(
                "%s has a batch size already: leave out that one, or --batch-sizes" % sized[0]
            )
        named = [each._replace(batch_size=size) for each in named for size in batch_sizes]
    return OrderedDict(
        (in_lane.text, in_lane)
        for contender in named
        for in_lane in lanes(contender, model, threads)
    )


def lanes(contender, model, threads):
    """The contender in each of its lanes; InputError if it cannot run here.

    Each contender should have one name, so the model's own batch size and the bench's own number of
    threads are left out.
    """
    check(contender, model, threads)
    if contender.batch_size == networks.find(model).hp.batch_size:
        contender = contender._replace(batch_size=None)
    # In a user's own interpreter, no number would mean the user's own.
    if contender.threads == threads and contender.workers == 1 and not contender.python:
        contender = contender._replace(threads=None)
    every = [contender.lane] if contender.lane else contract.LANES
    return [contender._replace(lane=lane) for lane in every]


def check(contender, model, threads=None):
    """InputError if the contender cannot run here, with so many threads unless it names some."""
    name, lane, text = contender.name, contender.lane, contender.text
    framework = modules.find(name, model)
    if lane == modules.PLAIN:
        check_plain(contender, model, threads)
    elif lane and lane not in contract.ALL_LANES:
        lanes_of_all = ", ".join(contract.ALL_LANES + (modules.PLAIN,))
        raise InputError("%s: the lanes are %s" % (text, lanes_of_all))
    modules.check_lane(name, lane, model)
    if contender.python and contender.workers > 1:
        raise InputError("%s: workers run only in the environments here" % text)
    system = dict(framework.system, **debian.needs(contender.environment))
    packages = " ".join(debian.missing(system))
    if packages and not contender.python:
        raise InputError("%s needs packages outside pip: apt install %s" % (text, packages))
    if contender.lever is not None:
        if not lane:
            raise InputError("%s: a lever needs a lane: NAME:LANE+LEVER" % text)
        modules.find_lever(name, contender.lever, model)
    size = contender.batch_size or networks.find(model).hp.batch_size
    if size % contender.workers:
        raise InputError("%s: these workers cannot share a batch equally" % text)
    cores = machine.usable_cores()
    if contender.workers * (contender.threads or 1) > cores:
        raise InputError("%s: more threads than the machine's %d cores" % (text, cores))


def check_plain(contender, model, threads):
    """InputError if there is no such plain script, or it would not run as asked."""
    name, text = contender.name, contender.text
    if model != "cnn" or not modules.has(name, modules.PLAIN):
        known = ", ".join(n for n in frameworks.ENVIRONMENTS if modules.has(n, modules.PLAIN))
        raise InputError("%s: plain scripts exist for the CNN only, of %s" % (text, known))
    if frameworks.ENVIRONMENTS[name].gpu or machine.has_gpu():
        hide = "%s: plain scripts are timed on CPUs; hide a GPU with CUDA_VISIBLE_DEVICES="
        raise InputError(hide % text)
    cores = machine.usable_cores()
    if (contender.threads or threads) != cores:
        raise InputError("%s: a plain script sets no threads: it uses all %d cores" % (text, cores))
    if contender.python or contender.lever or contender.batch_size or contender.workers > 1:
        extras = "a lever, workers, a batch size or another interpreter"
        raise InputError("%s: a plain script does not take %s" % (text, extras))


def _with_levers(name, model):
    modules.find(name, model)
    amd = machine.is_amd()
    known = modules.levers(name, model).items()
    levers = [key for key, lever in known if lever.amd in (None, amd)]
    if not levers:
        raise InputError("%s has no levers for %s" % (name, model))
    return [Contender(name, "best", lever) for lever in [None] + levers]
