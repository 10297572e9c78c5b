"""python -m common.mistakes NAME [--model M] [--write]: plant known mistakes in a framework."""

import os
import sys
from collections import OrderedDict

from common import networks
from common.mistakes import catalogue, planted
from common.proof import contract
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import commands, machine, modules
from common.system.files import ROOT, write_json


def command(arguments):
    """Exit code 1 if a mistake passes the rung that names it, or the untouched module fails one."""
    parser = commands.OneLineParser(prog="python -m common.mistakes")
    parser.add_argument("name", help="the framework")
    parser.add_argument(
        "--model", choices=list(networks.MODELS), nargs="+", help="the networks; by default all"
    )
    parser.add_argument("--threads", type=commands.thread_count, default=machine.usable_cores())
    parser.add_argument("--write", action="store_true", help="into reports/mistakes")
    options = parser.parse_args(arguments)
    asked = options.model or list(networks.MODELS)
    modules.find(options.name)
    chosen = [model for model in modules.models(options.name) if model.name in asked]
    if not chosen:
        modules.find(options.name, asked[0])  # says who has it
    machine.limit_threads(options.threads)
    failed = [plant(options, model) for model in chosen]
    return 1 if any(failed) else 0


def plant(options, model):
    """Plant all in one model's module; how many went wrong."""
    framework = modules.find(options.name, model.name)
    module = modules.load(options.name, model.name)
    cache = ReferenceCache(model, options.threads)
    certifier = Certifier(model, options.threads, cache)
    print("%s, %s" % (framework.title, model.title), flush=True)

    def report(mistake, rung, detail):
        where = rung or "NOT CAUGHT"
        where += "" if rung in (None, mistake.rung) else ", not " + mistake.rung
        print("%-36s %-10s %s" % (mistake.name, where, detail[:150]), flush=True)

    alarms = OrderedDict()
    for lane in contract.LANES[::-1]:  # the mistakes are planted in the first one
        certificate = certifier.certify(options.name, module, lane)
        alarms[lane] = [rung["rung"] for rung in certificate["rungs"] if not rung["passed"]]
        print("untouched, lane %-22s %s" % (lane, ", ".join(alarms[lane]) or "passed"), flush=True)
    cache.save()
    from_outside = planted.plant(certifier, module, catalogue.mistakes(model), report)
    own = planted.plant(certifier, module, planted.own(options.name, model.name), report)
    found = list(from_outside.items()) + list(own.items())
    wrong = [name for name, (named, rung) in found if rung != named]
    caught = sum(1 for _, (_, rung) in found if rung)
    failed = wrong + [lane for lane, rungs in alarms.items() if rungs]
    print("%d of %d caught, %d at another rung" % (caught, len(found), len(wrong)), flush=True)
    result = OrderedDict(
        framework=options.name,
        model=model.name,
        title=framework.title,
        versions=machine.versions(framework.package),
        false_alarms=alarms,
        outside=from_outside,
        own=own,
    )
    if options.write:
        file = "%s-%s.json" % (options.name, model.name)
        write_json(os.path.join(ROOT, "reports", "mistakes", file), result)
    print("%d passed, %d failed" % (len(found) + len(alarms) - len(failed), len(failed)))
    return len(failed)


sys.exit(commands.guarded(command, sys.argv[1:]))
