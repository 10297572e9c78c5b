"""python -m tests.challenge.planted NAME FOLDER [--write]: are planted mistakes named?

Run it in a framework's environment. Each mistake that an answer can show is planted in the module,
which answers the challenge in FOLDER; the answer is checked like any other, and the causes that the
diagnosis names are compared with ``expected.causes``. Mistakes that wrap a module are the same in
every framework, so only NumPy gets them.
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
from common.challenge.diagnosis import Diagnosis
from common.challenge.replay import LOCATING, Replay
from common.mistakes import catalogue, planted
from common.proof.reference_cache import ReferenceCache
from common.system import commands, machine, modules
from common.system.files import ROOT, write_json
from tests.challenge import expected
from tests.challenge.recall import VERDICTS, sentences

NOT_SEEN = "not seen"  # the verdict if the answer passes
# Models that a transformer answers for each mistake, and further ones, by the mistake's rung.
NEEDED = ("gradient", "small", "momentum")
READ = {
    "data": ("probe", "recipe"),
    "gradient": ("bright",),
    "momentum": ("schedule",),
    "trajectory": ("recipe",),
    "accuracy": ("recipe",),
    "generation": ("generation",),
}


class Patient:
    """A framework's module that answers a challenge, perhaps with a mistake."""

    def __init__(self, name, folder, threads):
        self.asked, self.arrays, self.description = challenge.read(folder)
        self.framework = modules.find(name, self.description.name)
        machine.limit_threads(threads)
        self.module, self.threads = modules.load(name, self.description.name), threads
        self.cache = ReferenceCache(self.description, threads)
        self.certifier = AnswerCertifier(self.description, threads, self.cache)
        self.certifier.choose(self.asked["chosen"])
        self.last = None  # the last diagnosis, whose reference the next one shares
        self.stand_ins = {}  # the reference's answers in place of missing ones

    def answers(self, asked, module):
        """{name: array} of a module's answers to the challenge or a part of it."""
        return protocol.carry_out(
            asked, self.arrays, self.description, module, "same", self.threads
        )

    def judged(self, answers):
        """The certifier's verdict on answers."""
        replay = Replay(self.asked, self.arrays, answers, self.description, self.threads)
        replay.stand_ins = self.stand_ins
        return self.certifier.examine(replay)

    def examined(self, mistake):
        """(failed rungs, causes named, the same as lines) for its answer; None without an answer.

        There is no answer if the framework rejects a mistake, or if no port can make it.
        """
        with tempfile.TemporaryDirectory() as folder:
            wrong = mistake.make(self.module, folder)
            if getattr(wrong, "simulated", False):
                return None
            try:
                with np.errstate(all="ignore"):
                    answers = self.answers(self.part(mistake), wrong)
            except Exception:
                if not mistake.raises:
                    raise
                return None
        judged = self.judged(answers)
        failed = [rung["rung"] for rung in judged["rungs"] if rung["passed"] is False]
        if not failed:
            return [], [], []
        asked = self.asked, self.arrays, answers, self.description, self.threads
        self.last = Diagnosis(*asked, like=self.last)
        findings, lines = challenge.explained(self.last, judged)
        return failed, sentences(findings), lines

    def part(self, mistake):
        """The questions that are answered: all, but for those that only locate a wrong layer.

        A transformer takes long, so only those are answered that the diagnosis needs and that the
        rung needs that should see the mistake.
        """
        models = [entry for entry in self.asked["models"] if not entry["name"].startswith(LOCATING)]
        if "attention" in self.description.traits:
            needed = NEEDED + READ.get(mistake.rung, ())
            models = [entry for entry in models if entry["name"] in needed]
        return dict(self.asked, models=models)


def verdict(right, failed, named):
    """One of ``VERDICTS``, or ``NOT_SEEN``, for the causes that the diagnosis names.

    right: pattern of the right causes.
    """
    if not failed:
        return NOT_SEEN
    fits = [[bool(re.search(right, cause)) for cause in causes] for causes in named]
    if any(fit and not any(fit) for fit in fits):
        return "wrong"
    if not fits or [] in fits:
        return "located"
    return "named" if all(map(all, fits)) else "one of several"


def command(arguments):
    """Exit code 1 if anything was blamed wrongly, or a mistake was not seen."""
    parser = commands.OneLineParser(prog="python -m tests.challenge.planted")
    parser.add_argument("name", help="the framework")
    parser.add_argument("folder")
    parser.add_argument(
        "--mistakes", nargs="+", metavar="NAME", help="by default all; --write replaces these"
    )
    commands.add_threads(parser)
    parser.add_argument("--write", action="store_true", help="into reports/diagnosis")
    options = parser.parse_args(arguments)
    patient = Patient(options.name, options.folder, options.threads)
    description = patient.description
    known = planted.own(options.name, description.file)
    if options.name == "numpy":
        known = catalogue.mistakes(description) + known
    if options.mistakes:
        known = [mistake for mistake in known if mistake.name in options.mistakes]
    patterns = expected.causes(options.name)
    not_asked = {mistake for mistake, pattern in patterns.items() if pattern is None}
    file = "%s-%s.json" % (options.name, description.name)
    path = os.path.join(ROOT, "reports", "diagnosis", file)
    results = earlier(path, not_asked) if options.mistakes and options.write else OrderedDict()
    counts = OrderedDict()
    for mistake in tqdm(known, unit="mistake", leave=False):
        if mistake.name in not_asked:
            continue
        examined = patient.examined(mistake)
        if examined is None:
            print("%-40s not in an answer" % mistake.name, flush=True)
            continue
        failed, named, lines = examined
        right = patterns.get(mistake.name, "(?!)")  # without a cause, one that never fits
        result = verdict(right, failed, named)
        results[mistake.name] = OrderedDict(
            rung=mistake.rung, failed=failed, said=named, verdict=result
        )
        causes = "; ".join(" or ".join(causes) or "unknown" for causes in named)
        print("%-40s %-14s %s" % (mistake.name, result, causes or ",".join(failed)), flush=True)
        for line in lines:
            print("      " + line[:200], flush=True)
        verdicts = [seen["verdict"] for seen in results.values()]
        counts = OrderedDict((name, verdicts.count(name)) for name in VERDICTS + (NOT_SEEN,))
        if options.write:  # after each: all take hours
            record = OrderedDict(framework=options.name, model=description.name)
            record.update(singles=counts, mistakes=results)
            write_json(path, record)
    patient.cache.save()
    print(", ".join("%s %d" % item for item in counts.items()))
    return 1 if counts.get("wrong") or counts.get(NOT_SEEN) else 0


def earlier(path, not_asked):
    """{mistake: what was seen} in an earlier record, which stays as it is; {} without one."""
    if not os.path.isfile(path):
        return OrderedDict()
    with open(path) as file:
        seen = json.load(file, object_pairs_hook=OrderedDict)["mistakes"]
    return OrderedDict(item for item in seen.items() if item[0] not in not_asked)


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
