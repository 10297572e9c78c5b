"""python -m common.mistakes NAME [--model M]: plant known mistakes in a framework."""

import json
import os
import sys
import tempfile
from collections import OrderedDict

from common import networks
from common.mistakes import catalogue, planted
from common.proof import certificate, contract
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import commands, environments, machine, modules
from common.system.errors import InputError
from common.system.files import check_writable, write_json


def command(arguments):
    """Exit code 1 if a rung misses its mistake, or if an untouched module fails a rung."""
    parser = commands.OneLineParser(
        prog="python -m common.mistakes",
        description="Plant known mistakes in a framework; the right rung must catch each.",
    )
    parser.add_argument("name", help="the environment")
    parser.add_argument(
        "--model", choices=list(networks.MODELS), nargs="+", help="networks; default: all"
    )
    commands.add_threads(parser)
    parser.add_argument("--own", action="store_true", help="plant only the framework's own traps")
    parser.add_argument(
        "--out", metavar="FILE.json", help="write which rung caught each; needs one --model"
    )
    options = parser.parse_args(arguments)
    if options.out and (options.own or len(options.model or ()) != 1):
        raise InputError("--out: of all mistakes in one network; name it with --model")
    if options.out:
        check_writable(options.out)
    asked = options.model or list(networks.MODELS)
    modules.find(options.name)
    chosen = [model for model in modules.models(options.name) if model.name in asked]
    if not chosen:
        modules.find(options.name, asked[0])  # its error says which frameworks have it
    for name in asked if options.model else ():
        if not modules.has(options.name, name):
            print("%s has no network %r" % (options.name, name), flush=True)
    machine.limit_threads(options.threads)
    failed = [plant(options, model) for model in chosen]
    return 1 if any(failed) else 0


def plant(options, model):
    """Plant all mistakes in one model's module; the number of failures."""
    framework = modules.find(options.name, model.name)
    module = modules.load(options.name, model.name)
    print("%s, %s" % (framework.title, model.title), flush=True)
    alarms = OrderedDict()
    for lane in () if options.own else contract.LANES:
        alarms[lane] = untouched(options, model, lane)
        print("untouched, lane %-22s %s" % (lane, ", ".join(alarms[lane]) or "passed"), flush=True)
    certifier = Certifier(model, options.threads, ReferenceCache(model, options.threads))
    shared = [] if options.own else catalogue.mistakes(model)
    shared = planted.plant(certifier, module, shared, report, framework.forget)
    own = planted.own(options.name, model.name)
    own = planted.plant(certifier, module, own, report, framework.forget)
    rungs = list(shared.values()) + list(own.values())
    caught = sum(1 for _, rung in rungs if rung)
    misnamed = sum(1 for expected, rung in rungs if rung != expected)
    failed = misnamed + sum(1 for lane in alarms.values() if lane)
    print("%d of %d caught, %d at another rung" % (caught, len(rungs), misnamed), flush=True)
    if options.out:
        versions = machine.versions(framework.package)
        result = OrderedDict(versions=versions, threads=options.threads)
        result.update(settings=module.configure("same", options.threads, 0))  # names the device
        result.update(false_alarms=alarms, outside=shared, own=own)
        write_json(options.out, result)
    print("%d passed, %d failed" % (len(rungs) + len(alarms) - failed, failed))
    return failed


def untouched(options, model, lane):
    """The rungs that the module as it is fails in a lane: false alarms.

    A process of its own makes the certificate, because a lane's switches may be set once only.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "certificate.json")
        command = [sys.executable, "-m", "common.proof", options.name, "--model", model.name]
        command += ["--lane", lane, "--threads", str(options.threads), "--out", out]
        with tempfile.TemporaryFile() as log:
            if commands.call(command, log) not in (0, certificate.FAILED):
                return ["it crashed: %s" % environments.last_line(log)]
        with open(out) as file:
            rungs = json.load(file)["rungs"]
    return [rung["rung"] for rung in rungs if not rung["passed"]]


def report(mistake, rung, detail):
    """Print which rung caught a mistake."""
    where = rung or "NOT CAUGHT"
    where += "" if rung in (None, mistake.rung) else ", not " + mistake.rung
    print("%-36s %-10s %s" % (mistake.name, where, detail[:150]), flush=True)


sys.exit(commands.guarded(command, sys.argv[1:]))
