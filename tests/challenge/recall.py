"""python -m tests.challenge.recall FOLDER [--pairs N] [--write]: how many mistakes are named.

The NumPy module, in float32, makes each known cause and answers the challenge in FOLDER. It also
makes pairs: a cause of wrong scores with a cause of a wrong update. A mistake is "named" if the
diagnosis names only it, "one of several" if other causes give the same numbers, "located" if the
diagnosis only shows the stage, and "wrong" if the diagnosis names another one.
"""

import os
import sys
from collections import OrderedDict

import numpy as np

from common.challenge import causes, challenge, hypotheses, protocol
from common.challenge.diagnosis import CAUSE, STAGES, UNKNOWN, Diagnosis
from common.proof.reference import USUAL
from common.system import commands, machine, modules
from common.system.files import ROOT, write_json

SEED = 0
VERDICTS = ("named", "one of several", "located", "wrong")
DIAGNOSED = {name for names in STAGES.values() for name in names}  # models


def known(description, module, hp):
    """(causes of wrong scores, causes of wrong updates) that need no evidence from an answer."""
    return hypotheses.scores(description, module), hypotheses.steps(
        description, USUAL._asdict(), None, hp
    )


def diagnosed(asked, arrays, description, module, threads):
    """The causes that the diagnosis names for a module's answer, a list for each finding."""
    models = [entry for entry in asked["models"] if entry["name"] in DIAGNOSED]
    part = dict(asked, models=models)
    with np.errstate(all="ignore"):
        answers = protocol.carry_out(part, arrays, description, module, "same", threads)
        return sentences(Diagnosis(asked, arrays, answers, description, threads).findings())


def sentences(findings):
    """The causes that each finding names; an empty list for an unknown one."""
    return [
        [] if finding.kind == UNKNOWN else [finding.says] + finding.others
        for finding in findings
        if finding.kind in (CAUSE, UNKNOWN)
    ]


def judged(made, said, every):
    """One of ``VERDICTS``: whether the sentences ``said`` are the causes ``made``.

    every: the sentences of all known causes; others describe an answer, and name no cause.
    """
    if [causes for causes in said if set(causes) & every and not set(causes) & set(made)]:
        return "wrong"
    if len(said) != len(made) or not all(cause in causes for cause, causes in zip(made, said)):
        return "located"
    return "named" if max(len(causes) for causes in said) == 1 else "one of several"


def command(arguments):
    """Exit code 1 if anything was blamed wrongly."""
    parser = commands.OneLineParser(prog="python -m tests.challenge.recall")
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=40, metavar="N")
    commands.add_threads(parser)
    parser.add_argument("--write", action="store_true", help="into reports/diagnosis")
    options = parser.parse_args(arguments)
    threads = options.threads
    machine.limit_threads(threads)
    asked, arrays, description = challenge.read(options.folder)
    module = causes.plain(description, modules.load("numpy", description.name))
    hp = protocol.entry_of(asked, "gradient")["hyperparameters"]
    scores, steps = known(description, module, hp)
    random = np.random.RandomState(SEED)
    pairs = [
        [scores[random.randint(len(scores))], steps[random.randint(len(steps))]]
        for _ in range(options.pairs)
    ]
    every = {cause.says for cause in scores + steps}
    result = OrderedDict(model=description.name)
    for kind, sets in (("singles", [[cause] for cause in scores + steps]), ("pairs", pairs)):
        counts, off = OrderedDict((verdict, 0) for verdict in VERDICTS), []
        for made in sets:
            wrong, says = module, [cause.says for cause in made]
            for cause in made:
                wrong = cause.make(wrong)
            said = diagnosed(asked, arrays, description, wrong, threads)
            verdict = judged(says, said, every)
            counts[verdict] += 1
            if verdict != "named":
                off.append(OrderedDict(made=says, said=said, verdict=verdict))
            print("%-14s %s" % (verdict, "; ".join(says)), flush=True)
        result[kind] = OrderedDict(counts, of=len(sets), not_named=off)
        print("%s: %s" % (kind, ", ".join("%s %d" % item for item in counts.items())))
    if options.write:
        path = os.path.join(ROOT, "reports", "diagnosis", description.name + ".json")
        write_json(path, result)
    return 1 if result["singles"]["wrong"] + result["pairs"]["wrong"] else 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
