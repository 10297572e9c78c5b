"""python -m tests.challenge.planted NAME FOLDER [--write]: are planted mistakes named?

In a framework's own environment: each mistake of common.mistakes that an answer can show is put
into its module, which answers the challenge in FOLDER, and the answer is checked as anyone's would
be. Those that are put in from outside are the same in every framework: NumPy has them. What is
said is compared with ``expected.causes``.
"""

import json
import os
import re
import sys
import tempfile
from collections import OrderedDict

import numpy as np
from tqdm import tqdm

from common.challenge import challenge, protocol
from common.challenge.answer_certifier import AnswerCertifier
from common.challenge.replay import Replay
from common.mistakes import catalogue, planted
from common.proof.reference_cache import ReferenceCache
from common.system import commands, machine, modules
from common.system.files import ROOT, write_json
from tests.challenge import expected
from tests.challenge.recall import VERDICTS, sentences

NOT_SEEN = "not seen"  # the verdict where the answer passes


class Patient:
    """One framework's module, which answers with a mistake in it."""

    def __init__(self, name, folder, threads):
        self.asked, self.arrays, self.description = challenge.read(folder)
        modules.find(name, self.description.name)
        machine.limit_threads(threads)
        self.module, self.threads = modules.load(name, self.description.name), threads
        self.cache = ReferenceCache(self.description, threads)
        self.certifier = AnswerCertifier(self.description, threads, self.cache)
        self.certifier.choose(self.asked["chosen"])

    def examined(self, mistake):
        """(rungs that failed, causes said, the same as lines) of its answer; None for no answer.

        There is none where the framework refuses a mistake, or where it cannot be in a port.
        """
        with tempfile.TemporaryDirectory() as folder:
            wrong = mistake.make(self.module, folder)
            if getattr(wrong, "simulated", False):
                return None
            try:
                with np.errstate(all="ignore"):
                    answers = protocol.carry_out(
                        self.asked, self.arrays, self.description, wrong, "same", self.threads
                    )
            except Exception:
                if not mistake.raises:
                    raise
                return None
        replay = Replay(self.asked, self.arrays, answers, self.description, self.threads)
        judged = self.certifier.examine(replay)
        failed = [rung["rung"] for rung in judged["rungs"] if rung["passed"] is False]
        if not failed:
            return [], [], []
        findings, lines = challenge.explained(
            self.asked, self.arrays, answers, self.description, judged, self.threads
        )
        return failed, sentences(findings), lines


def verdict(right, failed, told):
    """One of ``VERDICTS``, or ``NOT_SEEN``, for the causes that were told of a mistake.

    right: pattern of those that are right.
    """
    if not failed:
        return NOT_SEEN
    fits = [[bool(re.search(right, one)) for one in some] for some in told]
    if any(fit and not any(fit) for fit in fits):
        return "wrong"
    if not fits or [] in fits:
        return "located"
    return "named" if all(map(all, fits)) else "one of several"


def command(arguments):
    """Exit code 1 if anything was blamed wrongly."""
    parser = commands.OneLineParser(prog="python -m tests.challenge.planted")
    parser.add_argument("name", help="the framework")
    parser.add_argument("folder")
    parser.add_argument(
        "--mistakes", nargs="+", metavar="NAME", help="by default all; --write replaces these"
    )
    cores = machine.usable_cores()
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument("--write", action="store_true", help="into reports/diagnosis")
    options = parser.parse_args(arguments)
    patient = Patient(options.name, options.folder, options.threads)
    description = patient.description
    known = planted.own(options.name, description.name)
    if options.name == "numpy":
        known = catalogue.mistakes(description) + known
    if options.mistakes:
        known = [one for one in known if one.name in options.mistakes]
    found, patterns = OrderedDict(), expected.causes(options.name)
    not_asked = {mistake for mistake, pattern in patterns.items() if pattern is None}
    for mistake in tqdm(known, unit="mistake", leave=False):
        if mistake.name in not_asked:
            continue
        what = patient.examined(mistake)
        if what is None:
            print("%-40s not in an answer" % mistake.name, flush=True)
            continue
        failed, told, lines = what
        result = verdict(patterns.get(mistake.name, "(?!)"), failed, told)  # or what never fits
        found[mistake.name] = OrderedDict(
            rung=mistake.rung, failed=failed, said=told, verdict=result
        )
        causes = "; ".join(" or ".join(some) or "unknown" for some in told)
        print("%-40s %-14s %s" % (mistake.name, result, causes or ",".join(failed)), flush=True)
        for line in lines:
            print("      " + line[:200], flush=True)
    patient.cache.save()
    path = os.path.join(
        ROOT, "reports", "diagnosis", "%s-%s.json" % (options.name, description.name)
    )
    if options.mistakes and options.write and os.path.isfile(path):
        with open(path) as file:  # the others stay as they were seen
            earlier = json.load(file, object_pairs_hook=OrderedDict)["mistakes"]
        asked = [(one, seen) for one, seen in earlier.items() if one not in not_asked]
        found = OrderedDict(asked, **found)
    counts = OrderedDict((one, 0) for one in VERDICTS + (NOT_SEEN,))
    for one in found.values():
        counts[one["verdict"]] += 1
    print(", ".join("%s %d" % item for item in counts.items()))
    if options.write:
        result = OrderedDict(framework=options.name, model=description.name)
        result.update(singles=OrderedDict(counts), mistakes=found)
        write_json(path, result)
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
