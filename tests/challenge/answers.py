"""python -m tests.challenge.answers NAME FOLDER [--write]: do answer and certificate agree?

Run it in a framework's environment. The framework's module answers the challenge in FOLDER; the
verdict on the answer is compared with the module's certificate, rung by rung.
"""

import os
import sys
from collections import OrderedDict

from common.proof.rungs import Certifier
from common.system import commands, machine
from common.system.files import ROOT, write_json
from tests.challenge.planted import Patient


def command(arguments):
    """Exit code 1 if a verdict differs or an answer is incomplete."""
    parser = commands.OneLineParser(prog="python -m tests.challenge.answers")
    parser.add_argument("name", help="the framework")
    parser.add_argument("folder")
    commands.add_threads(parser)
    parser.add_argument("--write", action="store_true", help="into reports/answers")
    options = parser.parse_args(arguments)
    patient = Patient(options.name, options.folder, options.threads)
    description = patient.description
    certifier = Certifier(description, options.threads, patient.cache)
    certificate = certifier.certify(options.name, patient.module, "same")
    judged = patient.judged(patient.answers(patient.asked, patient.module))
    patient.cache.save()
    rungs = OrderedDict()
    for proven, answered in zip(certificate["rungs"], judged["rungs"]):
        verdicts = rungs[proven["rung"]] = [proven["passed"], answered["passed"]]
        print("%-11s certificate %-6s answer %s" % (proven["rung"], *verdicts))
    if options.write:
        versions = machine.versions(patient.framework.package)
        result = OrderedDict(framework=options.name, model=description.name, versions=versions)
        result.update(whole=judged["whole"], rungs=rungs)
        file = "%s-%s.json" % (options.name, description.name)
        write_json(os.path.join(ROOT, "reports", "answers", file), result)
    return 0 if judged["whole"] and all(a == b for a, b in rungs.values()) else 1


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
