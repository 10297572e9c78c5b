"""Make a framework's parity certificate in a separate process, cache it, and find it again."""

import hashlib
import json
import os
import sys
from contextlib import suppress

import frameworks
from common import networks
from common.proof import basis, contract, progress, shares
from common.proof.oracle import SEED
from common.proof.reference import products
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import commands, interpreter, machine, modules, source, workers
from common.system.errors import InputError, NotProven
from common.system.files import cache_folder, check_writable, write_json

# The facts of a machine that arithmetic depends on. Two generations of CPUs may have one name.
MACHINE = ("cpu", "cpu_family", "cpu_model", "isa", "gpus", "cpu_switches")
# They change all libraries' products, and choose the GPU.
GPU_VARIABLES = ("NVIDIA_TF32_OVERRIDE", "CUDA_VISIBLE_DEVICES")
FAILED = 3  # the command's exit code where a rung failed; 1 is Python's own for a crash


def identity(model, name, module, lane, settings, lever=""):
    """A sha256 of everything a certificate depends on: code, versions, settings, the machine.

    A certificate is valid for every run with the same identity, whatever its seed. lever: the name
    of the lever that is pulled; the process already has its environment variables.
    """
    code = [basis.own(name, model.name, lane), basis.shared(model.name)]
    code.append(source.code_sha256(getattr(module, "sources", (module.__file__,))))
    facts = machine.facts()
    switches = {key: value for key, value in settings.items() if key != "seed"}
    versions = machine.versions(modules.find(name).package)
    rests_on = [code, model.name, name, lane, lever, versions, switches]
    rests_on += [facts.get(key) for key in MACHINE]
    rests_on.append(sorted(frameworks.ENVIRONMENTS[name].set_env.items()))
    rests_on += [os.environ.get(variable) for variable in GPU_VARIABLES]
    if modules.has(name, "older"):  # it may change what the module calls
        older = frameworks.path(frameworks.ENVIRONMENTS[name], "older")
        rests_on.append(source.code_sha256(source.imported([older], ("frameworks/",))))
    if lever:
        pulled = modules.find_lever(name, lever, model.name)
        rests_on += [pulled.patches, pulled.environ]
    if machine.OWN in os.environ:
        rests_on += interpreter.contents()
    return hashlib.sha256(json.dumps(rests_on, sort_keys=True).encode()).hexdigest()


def make(model, name, module, lane, threads, lever=""):
    """Climb the rungs, print each result, and cache the certificate: a dict of JSON values."""
    settings = module.configure(lane, threads, SEED)
    # Taken first: sources may be edited during the climb.
    digest = identity(model, name, module, lane, settings, lever)
    cache = ReferenceCache(model, threads)
    certifier = Certifier(model, threads, cache, products(settings))
    first = workers.rank(name) == 0
    with progress.reporting(certifier.rungs, first) as report:
        certificate = certifier.certify(name, module, lane, report)
    certificate["identity"] = digest
    if first:
        write_json(_path(model, name, lane, digest), certificate, allow_nan=True)
        if machine.OWN not in os.environ:  # a fault of the user's NumPy would be everyone's
            cache.save()
    return certificate


def _path(model, name, lane, digest):
    file = "%s-%s-%s-%s.json" % (name, model.name, lane, digest[:16])
    return os.path.join(cache_folder(), "certificates", file)


def _kept(model, name, lane, digest):
    try:
        with open(_path(model, name, lane, digest)) as file:
            certificate = json.load(file)
    except (OSError, ValueError):
        return None
    whole = isinstance(certificate, dict) and certificate.get("identity") == digest
    return certificate if whole else None


def _remove(model, name, lane, digest):
    with suppress(FileNotFoundError):
        os.remove(_path(model, name, lane, digest))


def obtain(model, name, module, lane, settings, lever="", team=1):
    """A certificate that is valid for a run: a cached one that passed, or a new one.

    A separate process makes it, so that the run is not charged for the proof's memory and caches.
    InputError if that process crashes. team: the number of workers.
    """
    digest = identity(model, name, module, lane, settings, lever)
    certificate = _kept(model, name, lane, digest)
    failed, code = certificate is None or not certificate["passed"], None
    if failed and not workers.launched():  # the process that starts workers has proven them
        print("proving    once; the certificate is kept for later runs", flush=True)
        command = [sys.executable, "-m", "common.proof", name]
        command += ["--model", model.name, "--lane", lane, "--threads", str(settings["threads"])]
        command += ["--lever", lever] if lever else []
        command += ["--workers", str(team)] if team > 1 else []
        _remove(model, name, lane, digest)  # a failed one: a file found later is new
        with machine.running_on(machine.allowed_cores()):  # OpenMP may have bound this thread
            code = commands.call(command)
        if code not in (0, FAILED):
            _remove(model, name, lane, digest)
        certificate = _kept(model, name, lane, digest)
    if certificate is None:
        how = "" if code is None else ": its process ended with code %d" % code
        raise InputError("%s: the certificate could not be made%s (see above)" % (name, how))
    return certificate


def proven(name, model, lane, threads, lever="", team=1):
    """A module that passed, and its settings in force; NotProven if it failed."""
    machine.limit_threads(threads)
    module = modules.in_lane(name, lane, model, lever)
    module = shares.parallel(name, networks.find(model), module, team)
    settings = module.configure(lane, threads, 0)
    certificate = obtain(networks.find(model), name, module, lane, settings, lever, team)
    if not certificate["passed"]:
        several = ", %d workers" % team if team > 1 else ""
        failed = next(rung for rung in certificate["rungs"] if not rung["passed"])
        reason = "%s: %s" % (failed["rung"], failed["detail"] or failed["what"])
        raise NotProven("%s, lane %s%s," % (name, lane, several), reason)
    return module, settings


def command(arguments):
    """Certify one framework in one lane; exit code 3 if a rung failed."""
    parser = commands.OneLineParser(
        prog="python -m common.proof",
        description="Make the certificate of one environment in one lane, without training.",
        epilog="Exit code 0: all rungs passed; 3: a rung failed; 2: bad input.",
    )
    add = parser.add_argument
    add("name", help="the environment")
    add("--model", choices=list(networks.ALL), default="cnn", help=commands.MODEL_HELP)
    add("--lane", choices=contract.ALL_LANES, default="same", help=commands.LANE_HELP)
    commands.add_workers(parser)
    interpreter.add_option(parser)
    add("--lever", default="", metavar="NAME", help="prove with this lever of variants.py")
    add("--out", metavar="FILE.json", help="write the certificate to this file")
    options = parser.parse_args(arguments)
    if options.out:
        check_writable(options.out)
    model = networks.find(options.model)
    modules.find(options.name, model.name)
    workers.check(options.name, options.workers, SEED)
    ask = interpreter.Ask(options.name, model.name, options.lane)
    interpreter.restart(options.python, ask, "common.proof", arguments)
    environ = modules.environ(options.name, options.lane, options.lever, options.model)
    machine.restart_with(environ, "common.proof", arguments)
    threads = commands.threads(options.threads, options.workers)
    machine.limit_threads(threads)
    if options.workers > 1 and not workers.launched():
        workers.check_shares(options.name, options.workers, model.hp.batch_size)
        return workers.launch(options.name, options.workers, "common.proof", arguments)
    if options.workers > 1:
        workers.join(options.name)
    module = modules.in_lane(options.name, options.lane, model.name, options.lever)
    module = shares.parallel(options.name, model, module, options.workers)
    certificate = make(model, options.name, module, options.lane, threads, options.lever)
    if options.out and workers.rank(options.name) == 0:
        versions = machine.versions(modules.find(options.name).package)
        result = dict(certificate, versions=versions, threads=threads)
        write_json(options.out, result, allow_nan=True)
    return 0 if certificate["passed"] else FAILED
