"""The command line of profiles."""

import os
from typing import Dict, NamedTuple, Optional

from common import networks
from common.bench.contenders import Contender, in_lane, resolve
from common.networks.model import Model
from common.system import commands, interpreter, machine, modules
from common.system.errors import InputError
from common.system.files import reports_folder


class Request(NamedTuple):
    """Requested profiles.

    contenders: {name: ``Contender``}, each in one lane. steps: how many to profile.
    out: the path of the result file, or None.
    """

    contenders: Dict[str, Contender]
    model: Model
    threads: int
    steps: int
    out: Optional[str]


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    options = _parser().parse_args(arguments)
    asked = [in_lane(text, "a profile") for text in options.profiled]
    for contender in asked:
        environment = modules.find(contender.name)
        if not (modules.has(contender.name, "profile") and environment.profiled):
            raise InputError("no profiler is known for %s" % contender.name)
    if options.python:
        python = interpreter.absolute(options.python)
        asked = [each._replace(python=python) for each in asked]
    contenders = resolve([each.text for each in asked], options.model, options.threads)
    if options.out and len(contenders) > 1:
        raise InputError("--out takes one profile, not %d" % len(contenders))
    model = networks.find(options.model)
    return Request(contenders, model, options.threads, options.steps, options.out)


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.profiles",
        description="Show where a training step's time goes, from each framework's own profiler.",
    )
    add, number = parser.add_argument, commands.whole_number
    names = "environments to profile; without a lane: best"
    add("profiled", nargs="+", metavar="NAME[:LANE]", help=names)
    add("--model", choices=list(networks.ALL), default="cnn", help=commands.MODEL_HELP)
    commands.add_threads(parser)
    interpreter.add_option(parser)
    steps = "profile this many steps (%(default)s)"
    add("--steps", type=number, default=20, metavar="N", help=steps)
    out = "write the result to this file; for one environment only"
    add("--out", metavar="RESULT.json", help=out)
    return parser


def result_path(contender, request, facts):
    """The default path of a profile: a folder per machine, a file per contender."""
    mine = "-own-" + interpreter.mark(contender.python) if contender.python else ""
    lane = contender.lane + mine
    threads = ["%dthreads" % request.threads] if request.threads != facts["cores"] else []
    file = "-".join([request.model.name, contender.name, lane] + threads) + ".json"
    return os.path.join(reports_folder("profiles", machine.folder_name(facts)), file)
