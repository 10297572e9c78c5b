"""A sweep's command line."""

import os
from typing import NamedTuple, Optional, Tuple

from common import networks
from common.bench import contenders
from common.data import batches, dataset
from common.networks.model import CLASSES, SENTENCES
from common.sweep import tasks
from common.system import commands, files, machine
from common.system.errors import InputError

SCHEMA_VERSION = 1  # of a result file
POINTS = commands.between_0_and(100, "a number of points above 0")
MODELS = [name for name, model in networks.ALL.items() if model.task in (CLASSES, SENTENCES)]


class Request(NamedTuple):
    """A requested sweep.

    contenders: names of environments with lanes, NAME:LANE.
    margin: accuracies that differ by less, in percentage points, count as the same.
    at_once: trainings at a time on a node.
    threads: of a training; None for all cores of its node.
    address: of a Ray cluster, or None for this machine alone.
    test_images, out: None for all, and for the default path.
    """

    contenders: Tuple[str, ...]
    model: str
    seeds: int
    margin: float
    train_images: int
    epochs: int
    test_images: Optional[int]
    data: str
    at_once: int
    threads: Optional[int]
    address: Optional[str]
    out: Optional[str]


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    options = _parser().parse_args(arguments)
    images, epochs = networks.find(options.model).quick
    options.train_images = options.train_images or images
    options.epochs = options.epochs or epochs
    options.threads = _threads(options)
    model = networks.find(options.model)
    batches.order(options.train_images, model.hp.batch_size, 0, 0, model.task.observations)
    if options.data not in ("auto", dataset.SYNTHETIC) and not options.address:
        take = options.train_images, options.test_images, model.task.observations
        dataset.take(model.data(options.data), *take)
    found = []
    for name in options.contenders:
        contender = contenders.in_lane(name, "a sweep")
        contenders.check(contender, options.model)
        found.append(contender.text)
    if len(set(found)) < len(found):
        raise InputError("the same contender is named twice")
    if len(found) < 2:
        raise InputError("a sweep needs at least two contenders")
    options.contenders = tuple(found)
    return Request(**vars(options))


def _threads(options):
    """The threads of a training, as in a ``Request``; InputError if there are too few cores."""
    if options.address and not options.threads and options.at_once == 1:
        return None
    cores = machine.usable_cores()
    if not options.address and (options.threads or 1) > cores:
        raise InputError("--threads %d: this machine has %d cores" % (options.threads, cores))
    return commands.threads(options.threads, options.at_once)


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.sweep",
        description="Train each framework with several seeds, and say which reach the same "
        "accuracy. A sweep that was stopped continues where it ended.",
    )
    add, number = parser.add_argument, commands.whole_number
    names = "environments; the lane is best if left out"
    add("contenders", nargs="+", metavar="NAME[:LANE]", help=names)
    add("--model", choices=MODELS, default="cnn", help=commands.MODEL_HELP)
    seeds = "seeds for each (%(default)s)"
    add("--seeds", type=tasks.seed_count, default=10, metavar="N", help=seeds)
    margin = "accuracies that differ by less count as the same, in points (%(default)s)"
    add("--margin", type=POINTS, default=1.0, metavar="POINTS", help=margin)
    images = "train on the first N images or sequences; default: the short recipe"
    add("--train-images", type=number, metavar="N", help=images)
    add("--epochs", type=number, metavar="N", help="passes over them; default: the short recipe")
    add("--test-images", type=number, metavar="N", help="test on the first N images; default: all")
    add("--data", default="auto", metavar="auto|synthetic|PATH", help=commands.DATA_HELP)
    at_once = "trainings at a time on each machine; their times then mean little (%(default)s)"
    add("--at-once", type=number, default=1, metavar="N", help=at_once)
    threads = "of a training; default: its share of the cores"
    add("--threads", type=number, metavar="N", help=threads)
    add("--address", metavar="HOST:PORT", help="a Ray cluster; default: this machine alone")
    add("--out", metavar="RESULT.json", help="write the result to this file")
    return parser


def result_path(request):
    """The default path: one file for each recipe, whichever contenders and seeds it has."""
    parts = [request.model, "%dx%d" % (request.train_images, request.epochs)]
    parts += ["synthetic"] if request.data == "synthetic" else []
    parts += ["%dtest" % request.test_images] if request.test_images else []
    folder = files.reports_folder("sweeps", machine.folder_name(machine.facts()))
    return os.path.join(folder, "-".join(parts) + ".json")
