"""python -m tests.mistakes NAME: plant all known mistakes, write reports/mistakes/NAME.json."""

import json
import os
import sys
from collections import OrderedDict

from common.given import models
from common.host import commands, machine, modules
from common.host.files import ROOT, atomic_write
from common.proof import contract
from common.proof.kept import Kept
from common.proof.rungs import Certifier
from tests.mistakes import planted


def command(arguments):
    """Exit code 1 if a mistake is missed or an untouched module is taken for a wrong one."""
    parser = commands.OneLineParser(prog="python -m tests.mistakes")
    parser.add_argument("name", help="the framework")
    parser.add_argument("--threads", type=commands.thread_count, default=machine.usable_cores())
    options = parser.parse_args(arguments)
    framework = modules.find(options.name)
    machine.limit_threads(options.threads)
    module = modules.load(options.name)
    kept = Kept(models.CNN, options.threads)
    certifier = Certifier(models.CNN, options.threads, kept)

    def report(mistake, rung, detail):
        where = rung or "NOT CAUGHT"
        print("%-36s %-10s %s" % (mistake.name, where, detail[:150]), flush=True)

    alarms = OrderedDict()
    for lane in contract.LANES[:1]:
        certificate = certifier.certify(options.name, module, lane)
        alarms[lane] = [rung["rung"] for rung in certificate["rungs"] if not rung["passed"]]
        print("untouched, lane %-22s %s" % (lane, ", ".join(alarms[lane]) or "passed"), flush=True)
    kept.save()
    found = planted.plant(certifier, options.name, module, report)
    missed = [name for name, (_, rung) in found.items() if rung is None]
    print("%d of %d caught" % (len(found) - len(missed), len(found)))
    result = OrderedDict(
        framework=options.name,
        title=framework.title,
        versions=machine.versions(framework.package),
        false_alarms=alarms,
        mistakes=found,
    )
    path = os.path.join(ROOT, "reports", "mistakes", options.name + ".json")
    with atomic_write(path) as file:
        file.write((json.dumps(result, indent=1) + "\n").encode())
    return 1 if missed or any(alarms.values()) else 0


sys.exit(commands.guarded(command, sys.argv[1:]))
