"""Make the proofs that are not on record, each in its environment, and record them."""

import collections
import hashlib
import json
import os
import subprocess
import tempfile
import time

from common import networks
from common.records.records import CERTIFICATE, DUE, FRESH, MISSING, STALE, proofs
from common.system import commands, environments, machine, modules
from common.system.errors import InputError
from common.system.files import ROOT

LINES = 80  # the end of a failed proof's output to show: every planted mistake has a line
WITHOUT_RECORD = (STALE, MISSING)

Options = collections.namedtuple("Options", "names networks certificates check ci all minutes")
Options.__doc__ = """The command line.

names, networks: environments and networks; all if empty.
certificates: leave out planted mistakes.
check: only list what is not on record.
ci: prove certificates without a record, then all else in an order that differs from run to run.
all: prove everything, even if it is on record.
minutes: after these, begin no proof; None: no limit.
"""


def parse(arguments):
    """The command line's ``Options``; InputError if it is wrong."""
    parser = commands.OneLineParser(
        prog="python -m common.records", description=__doc__.split("\n")[0]
    )
    add, models = parser.add_argument, list(networks.MODELS)
    add("names", nargs="*", metavar="NAME", help="environments; default: all that need no GPU")
    all_models = "networks; default: all"
    add("--model", nargs="+", choices=models, default=[], dest="networks", help=all_models)
    add("--certificates", action="store_true", help="make certificates only; plant no mistakes")
    which = parser.add_mutually_exclusive_group().add_argument
    which("--check", action="store_true", help="only list what is not on record; prove nothing")
    ci = "prove certificates without a record, then all else, in another order for each commit"
    which("--ci", action="store_true", help=ci)
    which("--all", action="store_true", help="prove everything, even if it is on record")
    minutes = "start no proof after this many minutes"
    add("--minutes", type=commands.whole_number, metavar="N", help=minutes)
    options = parser.parse_args(arguments)
    for name in options.names:
        modules.find(name)  # its error lists the known ones
    return Options(**vars(options))


def turn():
    """The number of this run of continuous integration: GitHub's, elsewhere the last commit's."""
    number = os.environ.get("GITHUB_RUN_NUMBER")
    if number is None:
        try:
            head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT)
        except (OSError, subprocess.CalledProcessError):
            raise InputError("--ci: the last commit decides what is proven; here is no git clone")
        number = int(head[:8], 16)
    try:
        return int(number)
    except ValueError:
        raise InputError("GITHUB_RUN_NUMBER=%s is not a number" % number)


def chosen(options, states):
    """The proofs to make, in order. states: {``Proof``: its state}."""
    if options.all:
        return list(states)
    if not options.ci:
        missed = [proof for proof, state in states.items() if state != FRESH]
        return sorted(missed, key=lambda proof: states[proof] not in WITHOUT_RECORD)
    number = turn()

    def order(proof):  # there is time for some of them, so none may always come last
        lacking = proof.kind == CERTIFICATE and states[proof] in WITHOUT_RECORD
        return not lacking, hashlib.sha256(("%s in run %d" % (proof, number)).encode()).digest()

    return sorted(states, key=order)


def make(proof):
    """Make a proof in its environment and record it; return whether it passed.

    A proof uses all cores, because some mistakes only show with several threads. If it fails, the
    end of its output is printed, and an earlier record no longer counts.
    """
    rests_on, start = proof.rests_on(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = os.path.join(folder, "proof.json")
        arguments = proof.command(machine.usable_cores(), out)
        code = commands.call(environments.inside(proof.name, *arguments), log)
        seconds = time.perf_counter() - start
        print("%-40s %s in %.0f s" % (proof, "FAILED" if code else "passed", seconds), flush=True)
        if code == 0:
            with open(out) as file:
                proof.write(json.load(file), rests_on, seconds)
        else:
            proof.doubt()
            lines = environments.printed(log).splitlines()
            print("\n".join("    " + line for line in lines[-LINES:]), flush=True)
    return code == 0


def unmade(names):
    """Those of these environments that cannot be made here; the others are made."""
    without = []
    for name in names:
        why = environments.fault(name)
        if why is not None:
            print("left out   %s" % why, flush=True)
            without.append(name)
    return without


def command(arguments):
    """Exit code 1 if a proof failed or an environment cannot be made.

    With --check, exit code 1 if a record is missing or stale.
    """
    options = parse(arguments)
    states = collections.OrderedDict(
        (proof, proof.state())
        for proof in proofs(options.names, options.networks)
        if proof.kind == CERTIFICATE or not options.certificates
    )
    counts = collections.Counter(states.values())
    if not states:
        raise InputError("none of these environments has one of these networks")
    print(", ".join("%d %s" % (counts[state], state) for state in (FRESH, DUE, STALE, MISSING)))
    if options.check:
        incomplete = [(proof, state) for proof, state in states.items() if state != FRESH]
        print("\n".join("%-40s %s" % pair for pair in incomplete))
        return 1 if any(counts[state] for state in WITHOUT_RECORD) else 0
    limit = float("inf") if options.minutes is None else time.perf_counter() + 60 * options.minutes
    selected = chosen(options, states)
    without = unmade(collections.OrderedDict.fromkeys(proof.name for proof in selected))
    selected = [proof for proof in selected if proof.name not in without]
    failed, left = 0, []
    for proof in selected:
        if time.perf_counter() > limit:
            left.append(proof)
        else:
            failed += not make(proof)
    print("%d left for lack of time" % len(left))
    for proof in left:
        if proof.kind == CERTIFICATE and states[proof] in WITHOUT_RECORD:
            print("%-40s has no valid record; make one: tox run -e prove" % (proof,))
    print("%d passed, %d failed" % (len(selected) - len(left) - failed, failed))
    return 1 if failed or without else 0
