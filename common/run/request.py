"""A run's command line."""

from enum import Enum
from typing import NamedTuple, Optional

import frameworks
from common import networks
from common.networks.hyperparameters import without_dropout
from common.networks.model import Model
from common.proof import contract, shares
from common.system import commands, interpreter, modules, workers
from common.system.errors import InputError


class Files(NamedTuple):
    """Paths from the command line, or None.

    initial: weights to start from.
    trained, onnx, scores, result: files to write at the end.
    """

    initial: Optional[str] = None
    trained: Optional[str] = None
    onnx: Optional[str] = None
    scores: Optional[str] = None
    result: Optional[str] = None


class Request(NamedTuple):
    """A requested run. ``epochs`` and the numbers of images are None if not given."""

    framework: str
    model: Model
    lane: str
    data: str
    seed: int
    threads: int
    dropout: bool
    epochs: Optional[int]
    train_images: Optional[int]
    test_images: Optional[int]
    files: Files
    python: Optional[str] = None  # the user's interpreter
    workers: int = 1  # processes that share each batch

    @property
    def hp(self):
        """The hyperparameters."""
        return self.model.hp if self.dropout else without_dropout(self.model.hp)

    def module_alone(self):
        """The module with the six steps, in its lane, as one process runs it."""
        return modules.in_lane(self.framework, self.lane, self.model.name)

    def load(self):
        """The module as this worker runs it: with several, each takes its share of a batch."""
        module = self.module_alone()
        return shares.parallel(self.framework, self.model, module, self.workers)

    def configure(self, module):
        """The module's settings."""
        return module.configure(self.lane, self.threads, self.seed)


class Origin(Enum):
    """The origin of a run's length, in the words of a result."""

    NO_TRAINING = "no training, as asked for"
    ASKED = "as asked for"
    PARTLY_ASKED = "as asked for, the rest as in the whole recipe"
    QUICK = "quick, because there is no GPU"
    WHOLE = "whole"


class Recipe(NamedTuple):
    """How long a run trains."""

    origin: Origin
    train_images: int
    epochs: int


def recipe(request, device):
    """The recipe on this device, "cpu" or a GPU's name."""
    model, images, epochs = request.model, request.train_images, request.epochs
    if epochs == 0:  # the module still loads some images
        return Recipe(Origin.NO_TRAINING, images or model.hp.batch_size, 0)
    if images is None and epochs is None:
        if device == "cpu":
            return Recipe(Origin.QUICK, *model.quick)
        return Recipe(Origin.WHOLE, *model.whole)
    origin = Origin.PARTLY_ASKED if None in (images, epochs) else Origin.ASKED
    whole_images, whole_epochs = model.whole
    return Recipe(origin, images or whole_images, epochs or whole_epochs)


def parse(arguments):
    """The request of a command line; InputError if it is not valid."""
    options = _parser().parse_args(arguments)
    modules.find(options.name, options.model)
    if options.epochs == 0 and options.out:
        raise InputError("--out: without training there is no result file; use --save-scores")
    if not 0 <= options.seed < 2**32:
        raise InputError("argument --seed: %d is not between 0 and 2**32 - 1" % options.seed)
    workers.check(options.name, options.workers, options.seed)
    if options.python and options.workers > 1:
        raise InputError("--workers cannot be combined with --python")
    # A shell that completes a folder's name adds a slash.
    weights, save_weights = (
        path and (path.rstrip("/") or path) for path in (options.weights, options.save_weights)
    )
    saved = (save_weights, options.save_onnx, options.save_scores)
    return Request(
        framework=options.name,
        model=networks.find(options.model),
        lane=options.lane,
        data=options.data,
        seed=options.seed,
        threads=commands.threads(options.threads, options.workers),
        dropout=options.dropout == "on",
        epochs=options.epochs,
        train_images=options.train_images,
        test_images=options.test_images,
        files=Files(weights, *saved, options.out),
        python=options.python,
        workers=options.workers,
    )


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.run",
        description="Prove that a framework's network equals the reference, train it, test it, and "
        "write a result file.",
        epilog="@FILE reads options from a file, one per line.",
        fromfile_prefix_chars="@",
    )
    add, number = parser.add_argument, commands.whole_number
    add("name", help="the environment: " + ", ".join(frameworks.ENVIRONMENTS))
    add("--model", choices=list(networks.ALL), default="cnn", help=commands.MODEL_HELP)
    add("--data", default="auto", metavar="auto|synthetic|PATH", help=commands.DATA_HELP)
    epochs = "passes over the data; 0: no training; default: few on a CPU"
    add("--epochs", type=commands.count, metavar="N", help=epochs)
    add("--lane", choices=contract.ALL_LANES, default="same", help=commands.LANE_HELP)
    add("--seed", type=int, default=0, metavar="N", help="seed of weights, batches and dropout")
    add("--train-images", type=number, metavar="N", help="train on the first N images or sequences")
    add("--test-images", type=number, metavar="N", help="test on the first N images; default: all")
    add("--dropout", choices=("on", "off"), default="on", help="train with dropout; default: on")
    commands.add_workers(parser)
    interpreter.add_option(parser)
    own = ": .npz, .safetensors, .hf (a folder, as of transformers) or the framework's own format"
    add("--weights", metavar="IN", help="start from these weights" + own)
    add("--save-weights", metavar="OUT", help="save the trained weights" + own)
    add("--save-onnx", metavar="OUT.onnx", help="save the trained network as ONNX")
    add("--save-scores", metavar="OUT.npz", help="save the scores of the test images as one array")
    add("--out", metavar="RESULT.json", help="write the result to this file")
    return parser
