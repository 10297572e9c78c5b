"""One training of a study in its framework's environment: ``python -m common.lessons.training``.

It trains the CNN once, plain or with a switch thrown, measures its accuracy, and writes a file. A
plain training also measures the switches that only affect prediction, with its weights.
"""

import sys
import time
from collections import OrderedDict

import numpy as np

from common.data import batches
from common.data.dataset import take
from common.lessons import switches
from common.lessons.report import PLAIN
from common.networks.cnn import CNN
from common.proof import certificate, contract
from common.run import clocks, console, measures, results
from common.system import commands, files, machine, modules


def build(training, lane, threads, seed, weights):
    """A model with these weights and fresh random numbers."""
    module, hp = training.module, training.hp
    settings = module.configure(lane, threads, seed)
    return module.loss(module.symbol(settings, hp), settings, hp, weights)


def train(training, model, x, y, seed, epochs, label):
    """Train all epochs, each with a progress bar; the losses. Stop if a loss is not finite."""
    size, losses = training.hp.batch_size, []
    for epoch in range(epochs):
        order = training.order(len(y), size, seed, epoch)
        steps = ((x[indices], y[indices]) for indices in order)
        title = "%s, epoch %d/%d" % (label, epoch + 1, epochs)
        with console.progress(title, len(order), size, "images") as report:
            clocks.timed_pass(training.module, model, steps, len(order), losses, report)
    return losses


def accuracy(training, model, x, labels):
    """The fraction of test images that are classified correctly."""
    outputs = np.asarray(training.module.predict(model, x), np.float32)
    if not np.isfinite(outputs).all():
        raise clocks.NotFinite("a score in prediction")
    return measures.measure(training.module, CNN.task, outputs, labels)["accuracy"]["value"]


def measured(options, plain, dataset):
    """{switch: figures} of a training, and of the switches that predict with its weights."""
    name, lane, threads, seed = options.name, options.lane, options.threads, options.seed

    def thrown(key):
        return switches.throw(name, lane, switches.SWITCHES[key], plain)

    variant = plain if options.switch == PLAIN else thrown(options.switch)
    settings = variant.module.configure(lane, threads, seed)
    x, x_test = map(batches.as_float, (dataset.train_images, dataset.test_images))
    x, y = variant.module.load(x, dataset.train_labels, settings)
    x_test, _ = variant.module.load(x_test, dataset.test_labels, settings)
    started = time.perf_counter()
    model = build(variant, lane, threads, seed, variant.initialize(CNN.shapes, seed))
    losses = train(variant, model, x, y, seed, options.epochs, options.switch)
    figures = {"accuracy": accuracy(variant, model, x_test, dataset.test_labels)}
    figures.update(last_loss=losses[-1], seconds=time.perf_counter() - started)
    made = OrderedDict([(options.switch, figures)])
    if options.switch == PLAIN:
        weights = variant.module.weights(model)
        for key, switch in switches.available(name, switches.LESSONS).items():
            if switch.predicts:
                model = build(thrown(key), lane, threads, seed, weights)
                made[key] = {"accuracy": accuracy(thrown(key), model, x_test, dataset.test_labels)}
    return made


def described(options, module, dataset):
    """A training's result file without its figures, a dict; Stop if it is not proven."""
    settings = module.configure(options.lane, options.threads, options.seed)
    proof = certificate.obtain(CNN, options.name, module, options.lane, settings)
    if not proof["passed"]:
        raise clocks.Stop("%s, lane %s, is not proven" % (options.name, options.lane))
    return OrderedDict(
        versions=machine.versions(modules.find(options.name).package),
        machine=machine.facts(),
        settings={key: value for key, value in settings.items() if key != "seed"},
        dataset=results.described(dataset),
        source_sha256=modules.source_sha256(module),
        certificate={key: proof[key] for key in ("passed", "identity")},
    )


def _parser():
    parser = commands.OneLineParser(
        prog="python -m common.lessons.training", description=__doc__.split(":")[0]
    )
    add, number = parser.add_argument, commands.whole_number
    add("name", help="the environment")
    add("--switch", choices=[PLAIN, *switches.SWITCHES], default=PLAIN, help="what is changed")
    add("--lane", choices=contract.ALL_LANES, default="best", help=commands.LANE_HELP)
    add("--seed", type=commands.count, default=0, help="of weights, batches and dropout")
    add("--train-images", type=number, required=True, help="train on the first N images")
    add("--epochs", type=number, required=True, help="passes over the images")
    add("--test-images", type=number, help="test on the first N images; default: all")
    add("--data", default="auto", help=commands.DATA_HELP)
    commands.add_threads(parser)
    add("--out", required=True, help="write the result to this file")
    return parser


def command(arguments):
    """Exit code 0 when the training is done, 1 if it failed."""
    options = _parser().parse_args(arguments)
    environ = modules.environ(options.name, options.lane)
    machine.restart_with(environ, "common.lessons.training", arguments)
    machine.limit_threads(options.threads)
    plain = switches.plain(options.name, options.lane, CNN)
    dataset = take(CNN.data(options.data), options.train_images, options.test_images)
    try:
        result = described(options, plain.module, dataset)
        result["measured"] = measured(options, plain, dataset)
    except clocks.Stop as stop:
        print("error: %s" % stop, file=sys.stderr)
        return 1
    files.write_json(options.out, result)
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
