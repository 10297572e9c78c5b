"""A bench's command line."""

import hashlib
import os
import re
from contextlib import suppress
from typing import Dict, NamedTuple, Optional

from common import networks
from common.bench import contenders, earlier
from common.networks.model import Model
from common.system import commands, machine
from common.system.errors import InputError
from common.system.files import reports_folder

POSITIVE = commands.between_0_and(float("inf"), "a number above 0")
SHARE = commands.between_0_and(1, "a share between 0 and 1")


class Request(NamedTuple):
    """A requested bench.

    contenders: {name: ``contenders.Contender``}.
    baseline: the name of the contender to compare with.
    levers: whether to time each framework's levers.
    runs: how many times to start every process.
    minutes: limit for all rounds. seconds: length of a block. precision: see ``compare.precision``.
    earlier, earlier_path: the result of an earlier bench to compare with, or None.
    out: the path of the result file, or None.
    """

    contenders: Dict[str, contenders.Contender]
    baseline: str
    levers: bool
    model: Model
    threads: int
    runs: int
    minutes: int
    seconds: float
    precision: float
    earlier: Optional[dict]
    earlier_path: Optional[str]
    out: Optional[str]

    def size(self, name):
        """The batch size of a contender."""
        return self.contenders[name].batch_size or self.model.hp.batch_size


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    parser = _parser()
    options, before = parser.parse_args(arguments), None
    if options.against:
        before = earlier.read(options.against)
        parser.set_defaults(model=before["model"], threads=before["threads"])
        if not options.contenders:
            parser.set_defaults(baseline=before["baseline"])
        options = parser.parse_args(arguments)
    names = options.contenders or list(before["contenders"] if before else [])
    if options.levers and len(names) != 1:
        raise InputError("--levers takes one environment, because all are compared with its lane")
    resolved = contenders.resolve(
        names, options.model, options.threads, options.batch_sizes, options.levers
    )
    if len(resolved) < 2:
        raise InputError("a bench needs at least two contenders")
    baseline = options.baseline or next(iter(resolved))
    if baseline not in resolved:
        with suppress(InputError):  # it may be written as the contender was
            same = contenders.resolve([baseline], options.model, options.threads)
            baseline = next(iter(same)) if len(same) == 1 else baseline
    if baseline not in resolved:
        raise InputError(
            "--baseline %s is not among the contenders, %s" % (baseline, ", ".join(resolved))
        )
    if before and not set(resolved) & set(before["contenders"]):
        raise InputError("%s has none of the contenders" % options.against)
    return Request(
        contenders=resolved,
        baseline=baseline,
        levers=options.levers,
        model=networks.find(options.model),
        threads=options.threads,
        runs=options.runs,
        minutes=options.minutes,
        seconds=options.seconds,
        precision=options.precision,
        earlier=before,
        earlier_path=options.against,
        out=options.out,
    )


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.bench",
        description="Prove frameworks, then time them in turn, each in its own process.",
    )
    add, number = parser.add_argument, commands.whole_number
    which = "environments to time; without a lane: same and best; plain: a tutorial's script"
    add("contenders", nargs="*", metavar=contenders.FORM, help=which)
    add(
        "--baseline",
        metavar="CONTENDER",
        help="the contender that ratios refer to; default: the first",
    )
    sizes = "time these batch sizes, and separate the cost of a step from the cost of an image"
    add("--batch-sizes", type=number, nargs="+", metavar="N", help=sizes)
    levers = "time each framework's best lane against itself with one thing changed, for each lever"
    add("--levers", action="store_true", help=levers)
    add("--model", choices=list(networks.ALL), default="cnn", help=commands.MODEL_HELP)
    commands.add_threads(parser)
    add(
        "--runs",
        type=number,
        default=3,
        metavar="N",
        help="restart every process this many times (%(default)s)",
    )
    add(
        "--minutes",
        type=number,
        default=10,
        metavar="N",
        help="time limit for all runs together (%(default)s)",
    )
    precise = "end a run when all intervals are within this share of their ratios (%(default)s)"
    add("--precision", type=SHARE, default=0.01, metavar="SHARE", help=precise)
    add(
        "--seconds",
        type=POSITIVE,
        default=2,
        metavar="N",
        help="train each contender this long at a time (%(default)s)",
    )
    against = "compare with an earlier bench; without contenders, time its contenders again"
    add("--against", metavar="RESULT.json", help=against)
    add("--out", metavar="RESULT.json", help="write the result to this file")
    return parser


def result_path(request, facts):
    """The default path of a result: a folder per machine, a file per set of contenders.

    A comparison with an earlier bench has a separate file.
    """
    names = list(request.contenders)
    if request.levers:
        plain = [each for each in request.contenders.values() if not each.lever]
        names = ["levers"] + [each._replace(lane=None).text for each in plain]
    elif len(names) > 4:
        digest = hashlib.sha256(" ".join(request.contenders).encode()).hexdigest()
        names = ["%d-contenders-%s" % (len(names), digest[:6])]
    threads = ["%dthreads" % request.threads] if request.threads != facts["cores"] else []
    later = ["against", request.earlier["made"][:10]] if request.earlier else []
    names = [re.sub("[:+/]+", "-", name.replace("@", "-batch")) for name in names]
    file = "-".join([request.model.name] + names + threads + later) + ".json"
    return os.path.join(reports_folder("bench", machine.folder_name(facts)), file)
