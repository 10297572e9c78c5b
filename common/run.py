"""Run one framework: load, symbol, loss, train, predict, evaluate; then write a result file.

python -m common.run pytorch --data auto --lane best
"""

import argparse
import hashlib
import os
import sys
import time
from collections import OrderedDict
from datetime import datetime, timezone

import numpy as np
from tqdm import tqdm

import frameworks
from common import (
    batches,
    certificate,
    contract,
    data,
    files,
    initializers,
    machine,
    results,
    timing,
)
from common import weights as canonical
from common.errors import InputError
from common.hyperparameters import CIFAR10, NO_DROPOUT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The whole recipe, and what a CPU can do while somebody waits for it.
WHOLE = {"train_images": 50000, "epochs": 10}
QUICK = {"train_images": 10000, "epochs": 3}

# Multiply-adds of one image's forward pass, from the shapes; twice for the two operations, and
# three times for forward, gradient of the inputs and gradient of the weights.
MULTIPLY_ADDS = (
    1024 * 50 * 27 + 1024 * 50 * 450 + 256 * 100 * 450 + 256 * 100 * 900 + 512 * 6400 + 10 * 512
)
TRAINING_OPERATIONS = 2 * 3 * MULTIPLY_ADDS - 2 * 1024 * 50 * 27  # no gradient of the image


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message):
        raise InputError(message)


def whole_number(text):
    """An option's value that must be 1 or more."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("%r is not a whole number of 1 or more" % text)
    return int(text)


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = OneLineParser(prog="python -m common.run", description=__doc__.splitlines()[0])
    known = ", ".join(frameworks.FRAMEWORKS)
    parser.add_argument("name", help="the framework: " + known)
    parser.add_argument("--data", default="auto", metavar="auto|synthetic|PATH", help="CIFAR-10")
    parser.add_argument("--epochs", type=whole_number, help="passes over the training images")
    parser.add_argument("--lane", choices=contract.LANES, default="same", help="the settings")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout")
    parser.add_argument("--train-images", type=whole_number, metavar="N", help="the first N")
    parser.add_argument("--test-images", type=whole_number, metavar="N", help="the first N")
    parser.add_argument("--dropout", choices=("on", "off"), default="on")
    parser.add_argument("--threads", type=whole_number, default=machine.usable_cores())
    parser.add_argument("--weights", metavar="IN.npz", help="initial weights, not Xavier's")
    parser.add_argument("--save-weights", metavar="OUT.npz", help="trained weights")
    parser.add_argument("--save-scores", metavar="OUT.npz", help="test scores, one array (n, 10)")
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    if not 0 <= options.seed < 2**32:
        raise InputError("argument --seed: %d is not between 0 and 2**32 - 1" % options.seed)
    return options


def recipe(options, device):
    """Fill in the epochs and training images that were not given; return what the recipe is."""
    if options.epochs and options.train_images:
        kind = "as asked for"
    elif options.epochs or options.train_images:
        kind = "as asked for, the rest as in the whole recipe"
    else:
        kind = "quick, because there is no GPU" if device == "cpu" else "whole"
    defaults = QUICK if kind.startswith("quick") else WHOLE
    options.epochs = options.epochs or defaults["epochs"]
    options.train_images = options.train_images or defaults["train_images"]
    return kind


def result_path(options, machine_facts):
    """Where a result goes unless ``--out`` says so: a folder per machine, a file per run's kind."""
    name = "%s-%s-%dx%d" % (options.name, options.lane, options.train_images, options.epochs)
    name += "-synthetic" if options.data_name.startswith("synthetic") else ""
    folder = machine.folder_name(machine_facts)
    return os.path.join(ROOT, "reports", "results", folder, name + ".json")


def run(options):
    """The whole run; the result, which is also written."""
    for path in (options.out, options.save_weights, options.save_scores):
        if path:
            files.check_writable(path)
    framework = frameworks.find(options.name)
    weights = None
    if options.weights:
        weights = canonical.load(options.weights)
    machine.limit_threads(options.threads)
    module = frameworks.load_module(options.name)
    settings = module.configure(options.lane, options.threads, options.seed)
    kind = recipe(options, settings["device"])
    dataset = data.take(data.load(options.data), options.train_images, options.test_images)
    batches.order(options.train_images, CIFAR10.batch_size, options.seed, 0)  # enough for a batch?
    options.data_name = dataset.name
    facts = machine.facts()
    path = options.out or result_path(options, facts)
    files.check_writable(path)
    hp = CIFAR10 if options.dropout == "on" else CIFAR10._replace(dropout=NO_DROPOUT)
    if weights is None:
        weights = initializers.xavier_uniform(options.seed)
    announce(options, framework, settings, facts, dataset, kind)

    proof = certificate.obtain(options.name, module, options.lane, options.threads)
    matmul = machine.matmul_flops()

    clock = time.perf_counter
    started = clock()
    float32 = [
        part.astype(np.float32) / 255 for part in (dataset.train_images, dataset.test_images)
    ]
    x, y = module.load(float32[0], dataset.train_labels, settings)
    x_test, _ = module.load(float32[1], dataset.test_labels, settings)
    loaded = clock()
    network = module.symbol(settings, hp)
    model = module.loss(network, settings, hp, weights)
    module.wait(model)
    built = clock()

    result = OrderedDict(
        schema=results.SCHEMA_VERSION,
        status="finished",
        framework=options.name,
        title=framework.title,
        lane=options.lane,
        made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        recipe=kind,
        versions=machine.versions(framework.package),
        machine=facts,
        settings=settings,
        dataset={
            "name": dataset.name,
            "sha256": dataset.sha256,
            "train_images": len(dataset.train_images),
            "test_images": len(dataset.test_images),
        },
        hyperparameters=dict(hp._asdict(), epochs=options.epochs, seed=options.seed),
        weights=os.path.basename(options.weights) if options.weights else "xavier uniform",
        source_sha256=source_sha256(module),
        certificate=proof,
    )
    passes = []
    try:
        train(module, model, x, y, options, hp, passes)
    except timing.NotFinite as error:
        before = [loss for one in passes for loss in one.losses]
        result.update(status="stopped", error=str(error), losses=before + error.losses[:-1])
        results.write(path, result)
        raise
    trained = clock()
    scores = np.asarray(module.predict(model, x_test), np.float32)
    predicted = clock()
    accuracy = float(module.evaluate(scores, dataset.test_labels))

    times = timing.summary(passes, hp.batch_size)
    times.update(load=loaded - started, build=built - loaded, predict=predicted - trained)
    if settings["device"] == "cpu":
        operations = times["images_per_second"] * TRAINING_OPERATIONS
        times.update(matmul_flops=matmul, share_of_matmul=operations / matmul)
    interval = results.wilson_interval(accuracy, len(scores))
    result.update(
        losses=[loss for one in passes for loss in one.losses],
        accuracy={"value": accuracy, "n": len(scores), "interval": interval},
        timings=times,
        peak_memory_bytes=machine.peak_memory(),
    )
    if options.save_weights:
        canonical.save(options.save_weights, module.weights(model))
    if options.save_scores:
        with files.atomic_write(options.save_scores) as file:
            np.savez(file, scores=scores)
    results.write(path, result)
    print("\n".join(summary_table(result, path)))
    return result


def train(module, model, x, y, options, hp, passes):
    """All epochs with a progress bar; appends each one's ``timing.Pass`` to ``passes``."""
    steps = len(x) // hp.batch_size
    for epoch in range(options.epochs):
        label = "epoch %d/%d" % (epoch + 1, options.epochs)
        with tqdm(total=steps, desc=label, unit="step", mininterval=0.5) as bar:

            def report(losses, seconds):
                rate = len(losses) * hp.batch_size / seconds
                bar.set_postfix_str("loss %.4f, %.0f images/s" % (losses[-1], rate), refresh=False)
                bar.update(len(losses))

            shared = batches.batches(x, y, hp.batch_size, options.seed, epoch)
            passes.append(timing.timed_pass(module, model, shared, epoch * steps, report))


def source_sha256(module):
    """sha256 of the module's source file."""
    with open(module.__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def announce(options, framework, settings, facts, dataset, kind):
    """Say on what, with what and how far this run will go."""
    gpus = ", ".join(gpu["name"] for gpu in facts["gpus"])
    off = settings["not_in_force"]
    switches = ", ".join(
        "%s=%s%s" % (name, value, " (not in force)" if name in off else "")
        for name, value in settings.items()
        if name != "not_in_force"
    )
    print("%s %s" % (framework.title, machine.versions(framework.package)["framework"]))
    print("machine    %s, %d cores%s" % (facts["cpu"], facts["cores"], gpus and ", " + gpus))
    print("settings   lane %s: %s" % (options.lane, switches))
    print("data       %s" % dataset.name)
    images = len(dataset.train_images)
    print("recipe     %s: %d images, %d epochs" % (kind, images, options.epochs), flush=True)


def summary_table(result, path):
    """The run in a few lines."""
    accuracy, times, proof = result["accuracy"], result["timings"], result["certificate"]
    low, high = accuracy["interval"]
    failed = [rung["rung"] for rung in proof["rungs"] if not rung["passed"]]
    lines = ["", "certificate  FAILED at: %s" % ", ".join(failed)]
    if proof["passed"]:
        lines = ["", "certificate  all %d rungs passed" % len(proof["rungs"])]
    numbers = (100 * accuracy["value"], 100 * low, 100 * high, accuracy["n"])
    lines.append("accuracy     %.2f%% (95%% interval %.2f to %.2f, %d images)" % numbers)
    if proof["passed"]:  # no time without the proof that the right thing was timed
        step = times["step"]
        spread = tuple(1000 * s for s in [step["median"]] + step["quartiles"])
        lines.append(
            "training     %.1f s, first step %.2f s" % (times["train"], times["first_step"])
        )
        lines.append("step         %.1f ms median, quartiles %.1f to %.1f" % spread)
        line = "throughput   %.0f images/s" % times["images_per_second"]
        if "share_of_matmul" in times:
            line += ", %.0f%% of this machine's matrix product" % (100 * times["share_of_matmul"])
        lines.append(line)
    if result["peak_memory_bytes"]:
        lines.append("memory       %.2f GB at its peak" % (result["peak_memory_bytes"] / 1e9))
    shown = os.path.relpath(path)
    lines.append("result file  %s" % (path if shown.startswith("..") else shown))
    return lines


def main(arguments=None):
    """Exit code 0 after a run, 1 if it went wrong or is not proven, 2 for bad input."""
    try:
        options = parse(arguments)
        if arguments is None and options.lane == "best":
            machine.restart_with(machine.KEEP_FREED_MEMORY, "common.run", sys.argv[1:])
        result = run(options)
    except InputError as error:
        print("error: %s" % error, file=sys.stderr)
        return 2
    except timing.NotFinite as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    return 0 if result["certificate"]["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
