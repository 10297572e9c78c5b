"""Run one framework: load, symbol, loss, train, predict, evaluate; then write a result file.

python -m common.run NAME --data auto --lane best
"""

import os
import sys
import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import NamedTuple, Optional

import numpy as np

from common.data import batches
from common.data.dataset import Dataset, take
from common.proof import certificate, scores, updates
from common.proof.reference import products
from common.run import clocks, console, hugging_face, measures, results, usual, weight_files
from common.run.request import Files, Recipe, parse, recipe
from common.system import commands, cuda, files, interpreter, machine, modules, workers
from common.system.errors import InputError


class Prepared(NamedTuple):
    """A run before its first step.

    module: has the six steps; with several workers an object, else a Python module.
    path: of the result file; None without training, where there is nothing to time, and for all
        workers but the first.
    """

    module: object
    settings: dict
    weights: dict
    recipe: Recipe
    dataset: Dataset
    machine: dict
    path: Optional[str]


def run(request):
    """The whole run; its result, which is also written."""
    if workers.rank(request.framework):  # the first worker writes all files
        request = request._replace(files=Files(initial=request.files.initial))
    check_files(request)
    machine.limit_threads(request.threads)
    prepared = prepare(request)
    result = initial_result(request, prepared)
    console.announce(result, request.model)
    result["certificate"] = prove(request, prepared.module, prepared.settings)
    losses = []  # all that is left of a run that is stopped
    with written_if_stopped(prepared.path, request, result, losses):
        model, outputs = six_steps(request, prepared, result, losses)
        unsaved = check_and_save(request, prepared, model, outputs)
        # After the weights are saved, because this trains the model further.
        late = late_updates(request, prepared, model, len(losses))
        if late:
            result["late_updates"] = late
    if prepared.path:
        result["versions"].update(cuda.versions())  # some load cuDNN at their first convolution
        results.write(prepared.path, result)
    if request.files.scores:
        with files.atomic_write(request.files.scores) as file:
            np.savez(file, scores=outputs)
    print(console.summary(result, request.model, prepared.path))
    slow = usual.complaint(result)
    if slow:
        print(slow)
    if unsaved:
        raise unsaved
    return result


def prove(request, module, settings):
    """The certificate of the module that runs."""
    model, name, lane = request.model, request.framework, request.lane
    return certificate.obtain(model, name, module, lane, settings, team=request.workers)


def check_files(request):
    """InputError for a file that cannot be read or written, before any work is done."""
    paths = request.files
    written = list(filter(None, (paths.result, paths.trained, paths.onnx, paths.scores)))
    for number, path in enumerate(written):
        for part in hugging_face.parts(path) if path.endswith(hugging_face.ENDING) else [path]:
            files.check_writable(part)
        if os.path.abspath(path) in map(os.path.abspath, written[:number]):
            raise InputError("%s: two options name this file" % path)
    for path in (paths.initial, paths.trained):
        if path:
            weight_files.check_name(request.model, request.framework, path)
    if paths.onnx:
        weight_files.check_onnx(request.framework)


def prepare(request):
    """Load the module, its settings, weights and data; InputError if that is not possible."""
    model = request.model

    def build(weights):
        module = request.module_alone()
        settings, hp = request.configure(module), request.hp
        return module, module.loss(module.symbol(settings, hp), settings, hp, weights)

    if request.files.initial:
        weights = weight_files.read(model, request.framework, request.files.initial, build)
    else:
        weights = model.initialize(model.shapes, request.seed)
    module = request.load()
    settings = request.configure(module)
    chosen, noun = recipe(request, settings["device"]), model.task.observations
    dataset = take(model.data(request.data), chosen.train_images, request.test_images, noun)
    # Too few for one batch are refused here.
    batches.order(chosen.train_images, request.hp.batch_size, request.seed, 0, noun)
    facts, path = machine.facts(), None
    if chosen.epochs and not workers.rank(request.framework):
        path = request.files.result or results.path(request, chosen, dataset, facts)
        files.check_writable(path)
    return Prepared(module, settings, weights, chosen, dataset, facts, path)


def initial_result(request, prepared):
    """The content of the result before the first step."""
    framework = modules.find(request.framework, request.model.name)
    dataset, initial = prepared.dataset, request.files.initial
    initializer = request.model.initialize.__name__.replace("_", " ")
    return OrderedDict(
        schema=results.SCHEMA_VERSION,
        status="finished",
        framework=request.framework,
        model=request.model.name,
        title=framework.title,
        lane=request.lane,
        made=files.now(),
        recipe=prepared.recipe.origin.value,
        versions=machine.versions(framework.package),
        machine=prepared.machine,
        settings=prepared.settings,
        dataset=results.described(dataset),
        hyperparameters=dict(
            request.hp._asdict(), epochs=prepared.recipe.epochs, seed=request.seed
        ),
        weights=os.path.basename(initial) if initial else initializer,
        source_sha256=modules.source_sha256(prepared.module),
    )


@contextmanager
def written_if_stopped(path, request, result, losses):
    """Write the result so far if anything stops the run."""
    try:
        yield
    except clocks.Stop as stop:
        write_stopped(path, request, result, str(stop), losses)
        raise
    except BaseException as error:
        stop = commands.interrupt_in(error)
        if stop is None:
            write_stopped(path, request, result, repr(error), losses)
            raise
        commands.ignore_signals()
        why = "%s after %d steps" % (commands.reason(stop), len(losses))
        written = write_stopped(path, request, result, why, losses)
        stop.args = ("%s; losses in %s" % (why, console.shown(written)) if written else why,)
        raise stop


def write_stopped(path, request, result, why, losses):
    """Write the result of a stopped run, if it trained; the path of the file.

    It does not replace the default result file, which an earlier run may have finished.
    """
    if path is None:
        return None
    for figure in ("timings", "peak_memory_bytes", "sample") + measures.FIGURES:
        result.pop(figure, None)  # the run did not reach the check of its last updates
    result.update(status="stopped", error=why, losses=losses)
    if not request.files.result:
        path = results.stopped(path)
    results.write(path, result)
    return path


def six_steps(request, prepared, result, losses):
    """Take the six steps and measure them, into ``result``; the trained model and its scores.

    ``losses`` grows with every step. Stop at the first loss or score that is not a finite number,
    and if the module returns fewer losses, scores or right answers than there are.
    """
    module, settings, dataset, hp = prepared.module, prepared.settings, prepared.dataset, request.hp
    clock = time.perf_counter
    started = clock()
    x, y = module.load(batches.as_float(dataset.train_images), dataset.train_labels, settings)
    x_test, _ = module.load(batches.as_float(dataset.test_images), dataset.test_labels, settings)
    loaded = clock()
    network = module.symbol(settings, hp)
    model = module.loss(network, settings, hp, prepared.weights)
    module.wait(model)
    built = clock()
    passes, products = train(request, prepared, model, x, y, losses)
    trained = clock()
    outputs = np.asarray(module.predict(model, x_test), np.float32)
    predicted = clock()
    if not np.isfinite(outputs).all():  # the last update may have broken the weights after its loss
        raise clocks.NotFinite("a score in prediction")
    figures = measures.measure(module, request.model.task, outputs, dataset.test_labels)

    times = clocks.summary(passes, hp.batch_size) if passes else {}
    times.update(load=loaded - started, build=built - loaded, predict=predicted - trained)
    if passes and settings["device"] == "cpu":
        operations = times["images_per_second"] * 2 * request.model.step_multiply_adds
        matmul = float(np.median(products)) * request.workers  # each has measured its own
        times.update(matmul_flops=matmul)
        if sum(len(timed.blocks) for timed in passes) > 1:  # a first step alone may only compile
            times.update(share_of_matmul=operations / matmul)
    result.update(losses=losses)
    result.update(figures)
    # Of several workers, only one is here.
    peak = machine.peak_memory() if request.workers == 1 else None
    result.update(timings=times, peak_memory_bytes=peak)
    return model, outputs


def train(request, prepared, model, x, y, losses):
    """All epochs, each a ``clocks.Pass``, with a progress bar; ``losses`` grows with every step.

    Also the speed of the matrix product before each: a machine's speed drifts in a long training.
    """
    size, passes, products = request.hp.batch_size, [], []
    steps, noun = len(x) // size, request.model.task.observations
    for epoch in range(prepared.recipe.epochs):
        if prepared.settings["device"] == "cpu":
            products.append(machine.matmul_flops())
        label = "epoch %d/%d" % (epoch + 1, prepared.recipe.epochs)
        with console.progress(label, steps, size, noun) as report:
            shared = batches.batches(x, y, size, request.seed, epoch)
            timed = clocks.timed_pass(prepared.module, model, shared, steps, losses, report)
            passes.append(timed)
    return passes, products


def check_and_save(request, prepared, model, outputs):
    """Stop unless the trained weights give the scores; then save the model.

    The result: the ``InputError`` of a file that could not be written, for the end of the run, so
    that what it measured is not lost.
    """
    trained = prepared.module.weights(model)
    observations = batches.as_float(prepared.dataset.test_images)
    precision = products(prepared.settings)
    why = scores.problem(request.model, request.threads, precision, trained, observations, outputs)
    if why:
        raise clocks.Stop(why)
    # Some engines wrap the network; ``alone`` takes the wrapper off, for a file of one process.
    model = getattr(prepared.module, "alone", lambda model: model)(model)

    def save():
        path = request.files.trained
        weight_files.write(request.model, request.framework, path, model, trained)

    def export():
        labels = prepared.dataset.test_labels[:2]
        x, _ = prepared.module.load(observations[:2], labels, prepared.settings)
        weight_files.export(request.framework, request.files.onnx, model, x)

    failed = []  # if one file cannot be written, the other may be on another disk
    for path, write in ((request.files.trained, save), (request.files.onnx, export)):
        try:
            if path:
                write()
        except InputError as error:
            failed.append(error)
    return InputError("; ".join(map(str, failed))) if failed else None


def late_updates(request, prepared, model, steps):
    """Compare further updates with those of the reference, which continues the training.

    None if they cannot be compared: masks hide the gradient, and a deep network is always near
    some kink.
    """
    traits, hp = request.model.traits, request.hp
    if steps and "momentum" in traits and "batchnorm" not in traits and not any(hp.dropout):
        module, settings = prepared.module, prepared.settings
        return updates.after_run(request.model, module, settings, hp, model, steps)
    return None


def command(arguments):
    """Exit code 0 after a run that is proven, 1 if it is not or had to stop."""
    failed = workers.FAILED if workers.launched() else 1
    try:
        result = run(parse(arguments))
    except clocks.Stop as error:
        print("error: %s" % error, file=sys.stderr)
        return failed
    return 0 if results.proven(result) else failed


def main(arguments):
    """The command line: as ``command``, but in a process with the lane's environment variables."""
    request = parse(arguments)
    ask = interpreter.Ask(request.framework, request.model.name, request.lane)
    interpreter.restart(request.python, ask, "common.run", arguments)
    environ = modules.environ(request.framework, request.lane)
    machine.restart_with(environ, "common.run", arguments)
    if request.workers > 1 and not workers.launched():
        check_files(request)
        workers.check_shares(request.framework, request.workers, request.hp.batch_size)
        module = request.load()
        # The workers find this certificate in the cache; the proof starts workers of its own.
        prove(request, module, request.configure(module))
        return workers.launch(request.framework, request.workers, "common.run", arguments)
    if request.workers > 1:
        workers.join(request.framework)
    return command(arguments)
