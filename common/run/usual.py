"""The share of the matrix product that a framework usually reaches, from committed results."""

import glob
import json
import os
import re
import sys
from contextlib import suppress
from typing import NamedTuple

from common.run import results
from common.system.files import ROOT
from common.system.machine import described

REPORTS = os.path.join(ROOT, "reports")
IDENTITY = ("cpu_family", "cpu_model", "isa")


CORES = 2  # times as many cores: on more, a share is lower
MUCH_LESS = 0.5  # of the usual share: too slow for any difference between machines


class Usual(NamedTuple):
    """A committed share, and where it is from.

    share: training's multiply-adds per second, relative to those of the matrix product.
    path: the file, relative to the project's root.
    """

    share: float
    made: str
    machine: dict
    threads: int
    versions: dict
    path: str

    @property
    def text(self):
        """Where and with which versions it was measured, for people."""
        parts = [described(self.machine), "%d threads" % self.threads]
        parts += ["version %s" % self.versions["framework"], "NumPy " + self.versions["numpy"]]
        return "%s; %s (%s)" % (", ".join(parts), self.made[:10], self.path)


def find(name, model, lane, machine, reports=REPORTS):
    """The ``Usual`` of the machine that is most like this one; None if there is none.

    A bench counts more than a run, which nobody repeats, and a later one more than an earlier one.
    """
    known = [(True, each) for each in _benches(name, model, lane, reports)]
    known += [(False, each) for each in _runs(name, model, lane, reports)]
    if not known:
        return None
    return max(known, key=lambda each: (_alike(each[1].machine, machine), each[0], each[1].made))[1]


def comparable(theirs, ours):
    """Whether this machine's share can be compared with a committed one, all from x86 machines."""
    if theirs["cpu"] != ours["cpu"] and IDENTITY[0] not in ours:
        return False
    return ours["cores"] <= CORES * theirs["cores"]


def kernels(name, model, machine, reports=REPORTS):
    """oneDNN's kernels for a step's convolutions in lane best, from a committed profile, or [].

    The profile is that of the machine that is most like this one.
    """
    found = []
    for _, profile in _files(reports, "profiles"):
        about = (profile.get("framework"), profile.get("model"), profile.get("lane"))
        if about == (name, model, "best") and profile.get("kernels"):
            found.append(profile)
    nearest = max(found, key=lambda each: _alike(each["machine"], machine), default={})
    return nearest.get("kernels", [])


def complaint(result):
    """A line about a run that is far below the usual share; None if it is not, or if unknown."""
    share, name = result.get("timings", {}).get("share_of_matmul"), result["framework"]
    if share is None or not results.proven(result):
        return None
    known = find(name, result["model"], result["lane"], result["machine"])
    if known is None or not comparable(known.machine, result["machine"]):
        return None
    if share >= MUCH_LESS * known.share:
        return None
    text = "slow         %.0f%% is far below the usual %.0f%% (%s); for the reason: "
    words = (name, result["model"], sys.executable)
    command = "tox run -e check -- %s --model %s --python %s" % words
    return text % (100 * share, 100 * known.share, known.path) + command


def _alike(theirs, ours):
    """How much two machines' processors have in common: the greater, the more."""
    identity = [tuple(map(str, map(facts.get, IDENTITY))) for facts in (theirs, ours)]
    names = [facts["cpu"] for facts in (theirs, ours)]
    # "Intel(R) Core(TM) i7" and "12th Gen Intel(R) Core(TM) i7" are of one maker.
    makers = [re.findall("intel|amd", name.lower()) or name for name in names]
    return (
        IDENTITY[0] in theirs and identity[0] == identity[1],
        names[0] == names[1],
        makers[0] == makers[1],
        theirs["cores"] == ours["cores"],
    )


def _files(reports, kind):
    for path in sorted(glob.glob(os.path.join(reports, kind, "*", "*.json"))):
        with suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as file:
                yield os.path.relpath(path, os.path.dirname(reports)), json.load(file)


def _benches(name, model, lane, reports):
    for path, bench in _files(reports, "bench"):
        contender = bench.get("contenders", {}).get("%s:%s" % (name, lane), {})
        if bench.get("model") == model and "share_of_matmul" in contender:
            process = contender["processes"][0]
            yield Usual(
                contender["share_of_matmul"],
                bench["made"],
                bench["machine"],
                bench["threads"],
                process["versions"],
                path,
            )


def _runs(name, model, lane, reports):
    for path, run in _files(reports, "results"):
        about = (run.get("framework"), run.get("model", "cnn"), run.get("lane"))
        share = run.get("timings", {}).get("share_of_matmul")
        if about == (name, model, lane) and share and results.proven(run):
            threads = run["settings"].get("threads", run["machine"]["cores"])
            yield Usual(share, run["made"], run["machine"], threads, run["versions"], path)
