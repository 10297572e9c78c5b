"""A study's command line."""

import os
from typing import NamedTuple, Optional, Tuple

import frameworks
from common.lessons import switches
from common.networks.cnn import CNN
from common.proof import contract
from common.sweep import tasks
from common.system import commands, files, machine, modules

SCHEMA_VERSION = 1  # of a result file


class Request(NamedTuple):
    """A requested study. ``test_images`` is None for all; ``out`` is a path or None."""

    framework: str
    lessons: Tuple[str, ...]
    seeds: int
    train_images: int
    epochs: int
    test_images: Optional[int]
    data: str
    lane: str
    threads: int
    out: Optional[str]


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    options = _parser().parse_args(arguments)
    modules.find(options.framework)
    modules.check_lane(options.framework, options.lane)
    return Request(**vars(options))


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.lessons",
        description="Train the CNN as it is and with each switch on, from the same seeds, and "
        "compare accuracies. A study that was stopped continues where it ended.",
    )
    add, number = parser.add_argument, commands.whole_number
    (images, epochs), lessons, default = CNN.quick, switches.LESSONS, _default()
    keys = "switches to test: %s; default: all" % ", ".join(lessons)
    name = "the environment; default: " + default
    add("framework", nargs="?", default=default, metavar="NAME", help=name)
    add("--lessons", choices=lessons, nargs="+", default=lessons, metavar="KEY", help=keys)
    seeds = "seeds per switch (%(default)s)"
    add("--seeds", type=tasks.seed_count, default=3, metavar="N", help=seeds)
    first = "train on the first N images (%(default)s)"
    add("--train-images", type=number, default=images, metavar="N", help=first)
    passes = "passes over the images (%(default)s)"
    add("--epochs", type=number, default=epochs, metavar="N", help=passes)
    add("--test-images", type=number, metavar="N", help="test on the first N images; default: all")
    add("--data", default="auto", metavar="auto|synthetic|PATH", help=commands.DATA_HELP)
    add("--lane", choices=contract.ALL_LANES, default="best", help=commands.LANE_HELP)
    commands.add_threads(parser)
    add("--out", metavar="RESULT.json", help="write the result to this file")
    return parser


def _default():
    """The first framework that can throw every switch."""
    return next(
        name
        for name in frameworks.ENVIRONMENTS
        if len(switches.available(name, switches.LESSONS)) == len(switches.SWITCHES)
    )


def result_path(request, dataset, facts):
    """The default path of a result; all seeds and lessons share a file."""
    parts = [request.framework, request.lane, "%dx%d" % (request.train_images, request.epochs)]
    parts += ["synthetic"] if dataset.name.startswith("synthetic") else []
    parts += ["%dtest" % request.test_images] if request.test_images else []
    parts += ["%dthreads" % request.threads] if request.threads != facts["cores"] else []
    folder = files.reports_folder("lessons", machine.folder_name(facts))
    return os.path.join(folder, "-".join(parts) + ".json")
