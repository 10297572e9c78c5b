"""python -m common.lessons.study [NAME]: train the CNN as it is, and with each switch thrown.

The original comparison drew each lesson from one run. Here plain and changed trainings share their
seeds, so that accuracies can be subtracted seed by seed. The result file has every training, and a
study that was stopped continues from there.
"""

import gc
import json
import os
import sys
import time
from collections import OrderedDict

import frameworks
from common.data import batches
from common.data.dataset import take
from common.lessons import switches, training
from common.lessons.report import PLAIN, effects, summary, time_left
from common.lessons.request import parse, result_path
from common.networks.cnn import CNN
from common.proof import certificate
from common.run import clocks, console, results
from common.system import commands, environments, files, machine, modules, source

SCHEMA_VERSION = 1

# Trainings share a file only if all of these are equal.
RESTS_ON = ("schema", "framework", "lane", "threads", "cpu", "versions", "settings", "dataset")
RESTS_ON += ("hyperparameters", "sources_sha256")


def sources(name):
    """The files whose code determines a training; no other network is among them."""
    environment = frameworks.ENVIRONMENTS[name]
    start = [frameworks.path(environment, file) for file in ("cnn", modules.MIXED, "variants")]
    start = [path for path in start if os.path.isfile(os.path.join(files.ROOT, path))]
    start += ["common/lessons/%s.py" % file for file in ("initializers", "switches", "training")]
    own = "frameworks/%s/" % environment.folder
    return source.imported(start, ("common/data/", "common/networks/", own))


def begun(request, module, settings, dataset, facts):
    """The result file's content before the first training."""
    framework = modules.find(request.framework)
    return OrderedDict(
        schema=SCHEMA_VERSION,
        status="unfinished",
        framework=request.framework,
        title=framework.title,
        lane=request.lane,
        threads=request.threads,
        cpu=facts["cpu"],
        versions=machine.versions(framework.package),
        machine=facts,
        settings={key: value for key, value in settings.items() if key != "seed"},
        dataset=results.described(dataset),
        hyperparameters=dict(CNN.hp._asdict(), epochs=request.epochs),
        source_sha256=modules.source_sha256(module),
        sources_sha256=source.code_sha256(sources(request.framework)),
        measured=OrderedDict(),
    )


class Study:
    """The trainings of a request, and their result.

    result: the result file's content. measured: {switch: {seed: figures}} in it.
    """

    def __init__(self, request):
        self.request = request
        self.plain = switches.plain(request.framework, request.lane, CNN)
        self.switches = switches.available(request.framework, request.lessons)
        module = self.plain.module
        settings = module.configure(request.lane, request.threads, 0)
        dataset = take(CNN.data(request.data), request.train_images, request.test_images)
        batches.order(request.train_images, CNN.hp.batch_size, 0, 0)  # InputError if too few
        facts = machine.facts()
        self.path = request.out or result_path(request, dataset, facts)
        files.check_writable(self.path)
        self.result = begun(request, module, settings, dataset, facts)
        self.resume(files.earlier(self.path))
        proof = certificate.obtain(CNN, request.framework, module, request.lane, settings)
        if not proof["passed"]:
            raise clocks.Stop("%s, lane %s, is not proven" % (request.framework, request.lane))
        self.result["certificate"] = {key: proof[key] for key in ("passed", "identity")}
        x, x_test = map(batches.as_float, (dataset.train_images, dataset.test_images))
        self.x, self.y = module.load(x, dataset.train_labels, settings)
        self.x_test, _ = module.load(x_test, dataset.test_labels, settings)
        self.labels = dataset.test_labels

    @property
    def measured(self):
        return self.result["measured"]

    def resume(self, before):
        """Continue an earlier result if it has the same basis; otherwise print the differences."""
        if before is None:
            return
        now = json.loads(json.dumps(self.result))
        others = [key.replace("_", " ") for key in RESTS_ON if before.get(key) != now[key]]
        if others:
            words = (console.shown(self.path), ", ".join(others))
            print("restart    %s has other %s" % words, flush=True)
        else:
            self.result.update(before)

    def left(self):
        """The (switch, seed) pairs still to train: seed by seed, the plain training first.

        Switches that only affect prediction are measured after the plain training.
        """
        keys = [PLAIN] + [key for key, switch in self.switches.items() if not switch.predicts]
        return [
            (key, seed)
            for seed in range(self.request.seeds)
            for key in keys
            if str(seed) not in self.measured.get(key, {})
        ]

    def run(self):
        """Train all that are left, writing after each; Stop if a training cannot continue."""
        left = self.left()
        self.print_left(left)
        if not left:  # an earlier call may have had more seeds, or older code for the effects
            self.keep({}, None, left)
        while left:
            key, seed = left.pop(0)
            label = "%s, seed %d" % (key.replace("_", " "), seed)
            try:
                figures = self.train(key, seed, label)
            except clocks.Stop as stop:
                raise clocks.Stop("%s: %s" % (label, stop))
            gc.collect()  # a model may be in a reference cycle
            self.keep(figures, seed, left)
            self.print_left(left)

    def train(self, key, seed, label):
        """{switch: figures} of a training, and of the switches that predict with its weights."""
        request, variant = self.request, self.plain
        if key != PLAIN:
            variant = switches.throw(request.framework, request.lane, self.switches[key], variant)
        started = time.perf_counter()
        weights = variant.initialize(CNN.shapes, seed)
        model = training.build(variant, request.lane, request.threads, seed, weights)
        losses = training.train(variant, model, self.x, self.y, seed, request.epochs, label)
        accuracy = training.accuracy(variant, model, self.x_test, self.labels)
        seconds = time.perf_counter() - started
        figures = {key: {"accuracy": accuracy, "last_loss": losses[-1], "seconds": seconds}}
        if key == PLAIN:
            figures.update(self.predict(variant.module.weights(model), seed))
        return figures

    def predict(self, weights, seed):
        """{switch: figures} of the switches that only affect prediction, with trained weights."""
        request, figures = self.request, {}
        for key, switch in switches.available(request.framework, switches.LESSONS).items():
            if switch.predicts:
                variant = switches.throw(request.framework, request.lane, switch, self.plain)
                model = training.build(variant, request.lane, request.threads, seed, weights)
                accuracy = training.accuracy(variant, model, self.x_test, self.labels)
                figures[key] = {"accuracy": accuracy}
        return figures

    def keep(self, figures, seed, left):
        """Add figures to the result and write it; meanwhile, signals wait."""
        with commands.signals_wait():
            for key, its_figures in figures.items():
                self.measured.setdefault(key, OrderedDict())[str(seed)] = its_figures
            self.result.update(status="finished", **effects(self.measured))
            if figures:
                self.result["made"] = files.now()
            self.result.pop("error", None)
            if left:
                self.result.update(status="unfinished", error="%d trainings are left" % len(left))
            files.write_json(self.path, self.result)

    def print_left(self, left):
        """Print how many trainings are left."""
        print("left       %s" % time_left(self.measured, len(left)), flush=True)


def start(arguments):
    """Make the framework's environment, and replace this process by the study in it."""
    name = parse(arguments).framework
    environments.make([name])
    inside = environments.inside(name, "-m", "common.lessons.study", *arguments)
    environ = {key: value for key, value in os.environ.items() if key != commands.SPEAKER}
    sys.stdout.flush()
    os.execve(inside[0], inside, environ)  # the study itself prints why it was stopped


def command(arguments):
    """Exit code 0 when every training is done, 1 if one failed."""
    request = parse(arguments)
    machine.restart_with(
        modules.environ(request.framework, request.lane), "common.lessons.study", arguments
    )
    machine.limit_threads(request.threads)
    study = None
    try:
        study = Study(request)
        study.run()
    except clocks.Stop as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    except BaseException as error:
        stop = commands.interrupt_in(error)
        if stop is None or study is None:
            raise
        words = (commands.reason(stop), len(study.left()), console.shown(study.path))
        stop.args = ("%s; %d trainings are left, the others are in %s" % words,)
        raise stop
    print(summary(study.result))
    available = {switch.lesson for switch in study.switches.values()}
    for lesson in request.lessons:
        if lesson not in available:
            print("%-13s cannot be switched in %s here" % (lesson, request.framework))
    print("result file  %s" % console.shown(study.path))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
