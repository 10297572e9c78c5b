"""Run one framework: load, symbol, loss, train, predict, evaluate; then write a result file.

python -m common.run NAME --data auto --lane best
"""

import os
import sys
import time
from collections import OrderedDict

import numpy as np

import frameworks
from common import networks
from common.data import batches
from common.data.dataset import take
from common.networks.hyperparameters import without_dropout
from common.proof import certificate, contract, scores, updates
from common.proof.reference import products
from common.run import clocks, console, measures, results, stored
from common.system import commands, cuda, files, machine, modules
from common.system.errors import InputError


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(
        prog="python -m common.run",
        description=__doc__.split("\n")[0],
        epilog="@FILE stands for the options in a file, one a line.",
        fromfile_prefix_chars="@",
    )
    number, known = commands.whole_number, ", ".join(frameworks.ENVIRONMENTS)
    cores = machine.usable_cores()
    parser.add_argument("name", help="the framework: " + known)
    parser.add_argument("--model", choices=list(networks.ALL), default="cnn", help="the network")
    parser.add_argument("--data", default="auto", metavar="auto|synthetic|PATH", help="its images")
    parser.add_argument(
        "--epochs", type=commands.count, metavar="N", help="passes over the images; 0: none"
    )
    parser.add_argument("--lane", choices=contract.ALL_LANES, default="same", help="the settings")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout")
    parser.add_argument(
        "--train-images", type=number, metavar="N", help="or sequences: the first N"
    )
    parser.add_argument("--test-images", type=number, metavar="N", help="the first N")
    parser.add_argument("--dropout", choices=("on", "off"), default="on", help="by default on")
    parser.add_argument(
        "--threads", type=commands.thread_count, default=cores, metavar="N", help="of the CPU"
    )
    own = "; .npz, .safetensors or the framework's own file"
    parser.add_argument("--weights", metavar="IN", help="initial weights, not Xavier's" + own)
    parser.add_argument("--save-weights", metavar="OUT", help="trained weights" + own)
    parser.add_argument("--save-onnx", metavar="OUT.onnx", help="the trained network")
    parser.add_argument("--save-scores", metavar="OUT.npz", help="test scores, one array")
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    if options.epochs == 0 and options.out:
        raise InputError("--out: without training there is no result file; use --save-scores")
    if not 0 <= options.seed < 2**32:
        raise InputError("argument --seed: %d is not between 0 and 2**32 - 1" % options.seed)
    return options


def recipe(options, model, device):
    """Fill in the epochs and training images that were not given; return what the recipe is."""
    asked = [one for one in (options.epochs, options.train_images) if one is not None]
    if options.epochs == 0:
        kind = "no training, as asked for"
    elif len(asked) == 2:
        kind = "as asked for"
    elif asked:
        kind = "as asked for, the rest as in the whole recipe"
    else:
        kind = "quick, because there is no GPU" if device == "cpu" else "whole"
    train_images, epochs = model.quick if kind.startswith("quick") else model.whole
    if options.epochs == 0:
        train_images = model.hp.batch_size  # a network may want to see some
    options.epochs = epochs if options.epochs is None else options.epochs
    options.train_images = options.train_images or train_images
    return kind


def result_path(options, dataset, facts):
    """Where a result goes without ``--out``: a folder per machine, a file per kind of run."""
    parts = [options.name] + ([options.model] if options.model != "cnn" else [])
    parts += [options.lane, "%dx%d" % (options.train_images, options.epochs)]
    parts += ["synthetic"] if dataset.name.startswith("synthetic") else []
    # What makes a run another than the recipe's must not overwrite the recipe's result.
    parts += ["seed%d" % options.seed] if options.seed else []
    without = options.dropout == "off" and networks.find(options.model).hp.dropout
    parts += ["no-dropout"] if without else []
    parts += ["weights"] if options.weights else []
    parts += ["%dtest" % options.test_images] if options.test_images else []
    parts += ["%dthreads" % options.threads] if options.threads != facts["cores"] else []
    folder = os.path.join(files.ROOT, "reports", "results", machine.folder_name(facts))
    return os.path.join(folder, "-".join(parts) + ".json")


def load(options):
    """The module with the six steps, in the lane that is asked for."""
    return modules.in_lane(options.name, options.lane, options.model)


def run(options):
    """The whole run; its result, which is also written."""
    for path in (options.out, options.save_weights, options.save_onnx, options.save_scores):
        if path:
            files.check_writable(path)
    description = networks.find(options.model)
    framework = modules.find(options.name, options.model)
    for path in (options.weights, options.save_weights):
        if path:
            stored.check_name(options.name, path)
    if options.save_onnx:
        stored.check_onnx(options.name)
    machine.limit_threads(options.threads)
    hp = description.hp if options.dropout == "on" else without_dropout(description.hp)

    def build(weights):
        module = load(options)
        settings = module.configure(options.lane, options.threads, options.seed)
        return module, module.loss(module.symbol(settings, hp), settings, hp, weights)

    if options.weights:
        weights = stored.read(description, options.name, options.weights, build)
    else:
        weights = description.initialize(description.shapes, options.seed)
    module = load(options)
    settings = module.configure(options.lane, options.threads, options.seed)
    kind = recipe(options, description, settings["device"])
    noun = description.task.observations
    dataset = take(description.data(options.data), options.train_images, options.test_images, noun)
    batches.order(options.train_images, hp.batch_size, options.seed, 0, noun)  # enough for a batch?
    facts, versions = machine.facts(), machine.versions(framework.package)
    path = None  # nothing is timed without training
    if options.epochs:
        path = options.out or result_path(options, dataset, facts)
        files.check_writable(path)
    version = versions["framework"]
    console.announce(
        framework,
        version,
        description,
        options.lane,
        settings,
        facts,
        dataset,
        kind,
        options.epochs,
    )

    result = OrderedDict(
        schema=results.SCHEMA_VERSION,
        status="finished",
        framework=options.name,
        model=options.model,
        title=framework.title,
        lane=options.lane,
        made=files.now(),
        recipe=kind,
        versions=versions,
        machine=facts,
        settings=settings,
        dataset={
            "name": dataset.name,
            "sha256": dataset.sha256,
            "train_images": len(dataset.train_labels),
            "test_images": len(dataset.test_labels),
        },
        hyperparameters=dict(hp._asdict(), epochs=options.epochs, seed=options.seed),
        weights=os.path.basename(options.weights)
        if options.weights
        else description.initialize.__name__.replace("_", " "),
        source_sha256=modules.source_sha256(module),
        certificate=certificate.obtain(description, options.name, module, options.lane, settings),
    )
    losses = []  # all that is left of a run that is stopped
    try:
        model, outputs = six_steps(module, settings, hp, weights, dataset, options, result, losses)
        trained = module.weights(model)
        observations = batches.as_float(dataset.test_images)
        why = scores.problem(
            description, options.threads, products(settings), trained, observations, outputs
        )
        if why:
            raise clocks.Stop(why)
        if options.save_weights:  # here, because what follows trains the model on
            stored.write(description, options.name, options.save_weights, model, trained)
        if options.save_onnx:
            x, _ = module.load(observations[:2], dataset.test_labels[:2], settings)
            stored.export(options.name, options.save_onnx, model, x)
        # Masks hide the gradient, and a deep network always stands on some edge.
        followed = "momentum" in description.traits and "batchnorm" not in description.traits
        if losses and followed and not any(hp.dropout):
            result["late_updates"] = updates.after_run(
                description, module, settings, hp, model, len(losses)
            )
    except clocks.Stop as stop:
        write_stopped(path, options, result, str(stop), losses)
        raise
    except BaseException as error:
        stop = commands.interrupt_in(error)
        if stop is None:
            raise
        commands.ignore_signals()
        why = "%s after %d steps" % (commands.reason(stop), len(losses))
        kept = write_stopped(path, options, result, why, losses)
        stop.args = ("%s; losses in %s" % (why, console.shown(kept)) if kept else why,)
        raise stop
    if path:
        versions.update(cuda.versions())  # some load cuDNN at their first convolution
        results.write(path, result)
    if options.save_scores:
        with files.atomic_write(options.save_scores) as file:
            np.savez(file, scores=outputs)
    print(console.summary(result, description, path))
    return result


def write_stopped(path, options, result, why, losses):
    """Write what is known of a run that was stopped, if it trained; the path of the file.

    Beside the result file, unless that was named: an earlier run may have finished and written it.
    """
    if path is None:
        return None
    result.update(status="stopped", error=why, losses=losses)
    if not options.out:
        path = path[: -len(".json")] + "-stopped.json"
    results.write(path, result)
    return path


def six_steps(module, settings, hp, weights, dataset, options, result, losses):
    """Take the six steps and measure them, into ``result``; the trained model and its scores.

    ``losses`` grows with every step. Stop at the first loss or score that is not a finite number,
    and where the module returns fewer losses, scores or right answers than there are.
    """
    matmul = machine.matmul_flops() if options.epochs else None
    clock = time.perf_counter
    started = clock()
    x, y = module.load(batches.as_float(dataset.train_images), dataset.train_labels, settings)
    x_test, _ = module.load(batches.as_float(dataset.test_images), dataset.test_labels, settings)
    loaded = clock()
    network = module.symbol(settings, hp)
    model = module.loss(network, settings, hp, weights)
    module.wait(model)
    built = clock()
    passes = train(module, model, x, y, options, hp, losses)
    trained = clock()
    outputs = np.asarray(module.predict(model, x_test), np.float32)
    predicted = clock()
    if not np.isfinite(outputs).all():  # the last update may have spoilt what its loss did not show
        raise clocks.NotFinite("a score in prediction")
    description = networks.find(options.model)
    figures = measures.measure(module, description.task, outputs, dataset.test_labels)

    times = clocks.summary(passes, hp.batch_size) if passes else {}
    times.update(load=loaded - started, build=built - loaded, predict=predicted - trained)
    if passes and settings["device"] == "cpu":
        operations = times["images_per_second"] * 2 * description.step_multiply_adds
        times.update(matmul_flops=matmul, share_of_matmul=operations / matmul)
    result.update(losses=losses)
    result.update(figures)
    result.update(timings=times, peak_memory_bytes=machine.peak_memory())
    return model, outputs


def train(module, model, x, y, options, hp, losses):
    """All epochs, each a ``clocks.Pass``, with a progress bar; ``losses`` grows with every step."""
    steps, passes = len(x) // hp.batch_size, []
    noun = networks.find(options.model).task.observations
    for epoch in range(options.epochs):
        label = "epoch %d/%d" % (epoch + 1, options.epochs)
        with console.progress(label, steps, hp.batch_size, noun) as report:
            shared = batches.batches(x, y, hp.batch_size, options.seed, epoch)
            passes.append(clocks.timed_pass(module, model, shared, steps, losses, report))
    return passes


def command(arguments):
    """Exit code 0 after a run that is proven, 1 if it is not or had to stop."""
    try:
        result = run(parse(arguments))
    except clocks.Stop as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    late = result.get("late_updates", {"passed": True})
    return 0 if result["certificate"]["passed"] and late["passed"] else 1


def main(arguments):
    """The command line: as ``command``, but in a process with the lane's environment variables."""
    options = parse(arguments)
    machine.restart_with(modules.environ(options.name, options.lane), "common.run", arguments)
    return command(arguments)
