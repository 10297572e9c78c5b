"""One process of a check, in the user's interpreter: it proves a module, or times its training.

The answer is a file, because frameworks print to stdout. Nothing is set for maths libraries here:
how they behave in this process's environment is the question.
"""

import itertools
import os
import re
import resource
import sys
import time

import numpy as np

from common import networks
from common.bench.process import endless
from common.profiles import kernels
from common.proof import certificate
from common.run import clocks
from common.system import cgroup, commands, load, machine, modules
from common.system.errors import InputError, NotProven
from common.system.files import write_json

WARM_UP = (1, 3)  # steps of the first passes, which are not counted
PASSES = 3
SECONDS = 0.7  # of a pass
MAPS = "/proc/self/maps"
OPENMP = r"/\S*/(?:libgomp|libiomp5|libomp)\b[^/\s]*\.so\S*"


def parse(arguments):
    """The command line, which ``check`` made."""
    parser = commands.OneLineParser(prog="python -m common.check.worker")
    parser.add_argument("name")
    parser.add_argument("answer", help="the file to write")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=machine.default_threads())
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--kernels", action="store_true", help="let oneDNN print a step's kernels")
    return parser.parse_args(arguments)


def prove(options):
    """{} if the module in lane best is proven, else {"not_proven": reason}; on CPUs only."""
    module = modules.in_lane(options.name, "best", options.model)
    if module.configure("best", options.threads, 0)["device"] != "cpu":
        raise InputError(
            "%s trains on a GPU here, and a check judges CPUs; hide the GPU: "
            "CUDA_VISIBLE_DEVICES= tox run -e check -- ..." % options.name
        )
    try:
        certificate.proven(options.name, options.model, "best", options.threads)
    except NotProven as error:
        return {"not_proven": error.failed}
    return {}


def openmp_runtimes(maps=MAPS):
    """The files of the OpenMP runtimes that are loaded; two that compute slow each other."""
    try:
        with open(maps, errors="replace") as file:
            return sorted(set(re.findall(OPENMP, file.read())))
    except OSError:
        return []


def flushes_denormals():
    """Whether this thread's processor takes denormal numbers for 0."""
    return bool((np.full(8, 1e-30, np.float32) * np.float32(1e-10) == 0).all())


def trainer(module, model, settings):
    """A function that trains so many steps more, and returns the seconds per step."""
    weights = model.initialize(model.shapes, 0)
    trained = module.loss(module.symbol(settings, model.hp), settings, model.hp, weights)
    batches = endless(module, model, settings, model.hp.batch_size)

    def seconds(steps):
        timed = clocks.timed_pass(module, trained, itertools.islice(batches, steps), steps)
        return (timed.seconds - timed.outside) / steps

    return seconds


def show_kernels(options):
    """Print a mark and train a step; oneDNN, if it is used, prints its kernels."""
    model = networks.find(options.model)
    module = modules.in_lane(options.name, "best", model.name)
    seconds = trainer(module, model, module.configure("best", options.threads, 0))
    seconds(1)
    print("\n" + kernels.MARK, flush=True)
    seconds(1)
    return {}


def paged(before, after, steps):
    """{"bytes": what a step requests from the system, "share": the kernel's, of the CPU time}.

    before, after: what ``getrusage`` returns.
    """
    system = after.ru_stime - before.ru_stime
    pages = (after.ru_minflt - before.ru_minflt) / steps
    share = system / ((cpu_time(after) - cpu_time(before)) or 1)
    return {"bytes": pages * resource.getpagesize(), "share": share}


def cpu_time(used):
    """Seconds, of what ``getrusage`` returns."""
    return used.ru_utime + used.ru_stime


def timed(seconds):
    """Time several passes of a ``trainer``, and what else used the cores meanwhile."""
    for steps in WARM_UP:
        step = seconds(steps)
    steps = max(1, round(SECONDS / step))
    before, throttled = load.snapshot(machine.allowed_cores()), cgroup.throttled()
    used, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    passes = [seconds(steps) for _ in range(PASSES)]
    elapsed, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    after, own = load.snapshot(machine.allowed_cores()), cpu_time(now) - cpu_time(used)
    window = elapsed * len(machine.allowed_cores())
    return {
        "seconds_per_step": float(np.median(passes)),
        "others": load.others(before, after, own, window),
        "busiest": load.busiest(before, after, elapsed, {os.getpid()})[:3],
        "throttled": cgroup.stopped(throttled, cgroup.throttled()),
        "paged": paged(used, now, PASSES * steps),
    }


def measure(options):
    """The answer, a dict of JSON values."""
    model = networks.find(options.model)
    product = machine.matmul_flops()  # first: a framework's threads may spin for a while
    module = modules.in_lane(options.name, "best", model.name)
    settings = module.configure("best", options.threads, 0)
    answer = timed(trainer(module, model, settings))
    return dict(
        answer,
        product=product,
        settings=settings,
        versions=machine.versions(modules.find(options.name).package),
        openmp=openmp_runtimes(),
        flushes_denormals=flushes_denormals(),
    )


def command(arguments):
    """Exit code 0 when the answer is written."""
    options = parse(arguments)
    if options.prove:
        environ = modules.environ(options.name, "best", "", options.model)
        machine.restart_with(environ, "common.check.worker", arguments)
    try:
        task = prove if options.prove else show_kernels if options.kernels else measure
        write_json(options.answer, task(options))
    except clocks.Stop as stop:
        raise InputError(str(stop))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
