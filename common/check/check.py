"""Judge a user's installation: prove it, time it, and if it is slow, find out why."""

import sys
import time
from typing import NamedTuple, Optional

import frameworks
from common import networks
from common.check import measuring, report, trials
from common.check.report import GAIN, LESS, SLOW_BLAS
from common.networks.model import Model
from common.run import usual
from common.system import commands, interpreter, machine, modules, shell
from common.system.errors import InputError

ALIKE = 0.9  # gains above this part of the highest one count as equal to it
SECONDS = 150  # for all trials
SLOW = 3  # the exit code


class Request(NamedTuple):
    """A requested check. python: the absolute path of the user's interpreter."""

    name: str
    model: Model
    python: str


class Finding(NamedTuple):
    """A trial that gained.

    gain: of the training's speed. product: of NumPy's matrix product. others: the share of the
    cores that other processes used meanwhile.
    """

    trial: trials.Trial
    gain: float
    product: float
    others: float = 0.0


class Judgement(NamedTuple):
    """How fast an installation is.

    plain: the worker's answer for the installation as it is. yardstick: our NumPy's.
    usual: ``usual.Usual``, or None. asked: threads that the user's shell asks for, or None.
    """

    plain: dict
    yardstick: dict
    multiply_adds: int
    usual: Optional[usual.Usual]
    asked: Optional[int] = None

    @property
    def share(self):
        """The share of the matrix product that the installation reaches."""
        return 2 * self.multiply_adds * self.plain["per_second"] / self.yardstick["product"]

    @property
    def of_usual(self):
        """The share as a part of the usual one; None if that is unknown."""
        return self.share / self.usual.share if self.usual else None

    @property
    def comparable(self):
        """Whether the usual share is of a machine that is not too unlike this one."""
        return self.usual is not None and usual.comparable(self.usual.machine, machine.facts())

    @property
    def blas(self):
        """The speed of the user's matrix product in NumPy, as a part of ours."""
        return self.plain["product"] / self.yardstick["product"]

    @property
    def suspicious(self):
        """Whether to look for a reason.

        On a busy machine the product may be as slow as one thread's training, so that the share
        hides a wrong number of threads.
        """
        if self.asked not in (None, machine.usable_cores()):
            return True
        return self.usual is None or self.of_usual < LESS or self.blas < SLOW_BLAS


def judge(installation):
    """The ``Judgement``; the product is measured before and after the training."""
    before = measuring.yardstick()
    plain = installation.time()
    after = measuring.yardstick()
    model = installation.model
    product = (before["product"] + after["product"]) / 2
    known = usual.find(installation.name, model.name, "best", machine.facts())
    yardstick = dict(before, product=product)
    asked = machine.asked_threads(installation.base)
    return Judgement(plain, yardstick, model.step_multiply_adds, known, asked)


def search(installation, judgement, say=print, clock=time.perf_counter):
    """The ``Finding``s among all trials; each gain is confirmed by a second comparison."""
    end, found = clock() + SECONDS, []
    here, plain = installation, judgement.plain
    for trial in trials.candidates(here.name, here.base, here.own, plain, judgement.yardstick):
        if clock() > end:
            say("  not tried, because time is up: %s" % trial.name)
            continue
        finding = compared(installation, trial, plain)
        if finding and gained(finding):
            again = compared(installation, trial, installation.time())
            lesser = [min(pair) for pair in zip(finding[1:3], again[1:3])] if again else [1, 1]
            finding = Finding(trial, *lesser, finding.others)
        say(report.tried(trial, finding, finding is not None and gained(finding)))
        if finding and gained(finding):
            found.append(finding)
    # Fewer cores than there are may be the user's wish: last.
    others, on_more_cores = (
        [finding for finding in found if finding.trial.cores == cores] for cores in (False, True)
    )
    return ranked(others) + ranked(on_more_cores)


def ranked(found):
    """``Finding``s, the highest gain first; of gains that are nearly equal, the likeliest cause.

    Those that make only NumPy's product faster come last. Of several changes of one variable, only
    the first is left.
    """
    order, changed = [], set()
    for speed in ("gain", "product"):
        while True:
            left = [finding for finding in found if not changed & finding.trial.variables]
            most = max((getattr(finding, speed) for finding in left), default=0)
            if most < GAIN:
                break
            first = next(finding for finding in left if getattr(finding, speed) > ALIKE * most)
            order.append(first)
            changed |= first.trial.variables
            found = [finding for finding in found if finding is not first]
    return order


def compared(installation, trial, plain):
    """The ``Finding`` of one trial; None if its process fails."""
    try:
        answer = installation.time(trial)
    except InputError:
        return None
    gains = [answer[key] / plain[key] for key in ("per_second", "product")]
    return Finding(trial, *gains, answer["others"])


def gained(finding):
    """Whether a gain is worth reporting."""
    return max(finding.gain, finding.product) >= GAIN


def kernels_in_words(installation):
    """Which kernels compute the convolutions; None if oneDNN does not, or if none are printed."""
    name, model = installation.name, installation.model
    if "convolution" not in model.traits:
        return None
    try:
        kernels = installation.kernels()
    except InputError:
        return None
    return report.onednn(kernels, usual.kernels(name, model.name, machine.facts()))


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    parser = commands.OneLineParser(
        prog="python -m common.check",
        description="Say whether an installation of a framework is as fast as it should be.",
        epilog="Exit code 0: fast enough, or at least half as fast as usual; 1: not proven; "
        "2: bad input; 3: below half of the usual speed.",
    )
    parser.add_argument("name", help="the framework's environment here")
    parser.add_argument("--python", metavar="PATH", required=True, help="your interpreter")
    parser.add_argument(
        "--model", choices=list(networks.ALL), default="cnn", help=commands.MODEL_HELP
    )
    options = parser.parse_args(arguments)
    environment = modules.find(options.name, options.model)
    if environment.gpu:
        raise InputError("%s: a check works on CPUs only" % options.name)
    python = interpreter.absolute(options.python)
    return Request(options.name, networks.find(options.model), python)


def command(arguments):
    """Exit code 0, 1, 2 or 3: see ``parse``."""
    request = parse(arguments)
    shell.keep()
    ask = interpreter.Ask(request.name, request.model.name, "best")
    base = interpreter.environ(request.python, ask)
    own = shell.variables()
    installation = measuring.Installation(request.python, request.name, request.model, base, own)
    print("proving    once; the certificate is kept for later checks", flush=True)
    reason = installation.prove()
    if reason:
        print("certificate  FAILED: %s" % reason)
        return 1
    judgement = judge(installation)
    title = frameworks.ENVIRONMENTS[request.name].title
    print(report.judged(title, request, judgement, own, base), flush=True)
    found, best = [], None
    if judgement.suspicious:
        print("looking for the reason, one change at a time:", flush=True)
        line = kernels_in_words(installation)
        if line:
            print(line, flush=True)
        found = search(installation, judgement, say=lambda line: print(line, flush=True))
        if len(found) > 1:
            together = trials.joined([finding.trial for finding in found])
            best = compared(installation, together, judgement.plain)
    print(report.verdict(judgement, found, best))
    sys.stdout.flush()
    half = judgement.comparable and judgement.of_usual < usual.MUCH_LESS
    return SLOW if half else 0
