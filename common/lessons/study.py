"""Train the CNN as it is, and with each switch thrown.

The original comparison drew each lesson from one run. Here plain and changed trainings share their
seeds, so that accuracies can be subtracted seed by seed. The result file has every training, and a
study that was stopped continues from there.
"""

import json
import os
import sys
from collections import OrderedDict

import frameworks
from common.data import batches
from common.data.dataset import take
from common.lessons import switches
from common.lessons.report import PLAIN, effects, summary
from common.lessons.request import SCHEMA_VERSION, parse, result_path
from common.networks.cnn import CNN
from common.run import clocks, console, results
from common.sweep import tasks
from common.system import commands, files, machine, modules, source
from common.system.errors import InputError

# Trainings share a file only if all of these are equal. Another study is left alone; after a change
# of the last ones, which a training knows, the same study starts again.
ABOUT = ("schema", "framework", "lane", "threads", "dataset", "hyperparameters")
TRAINED_WITH = ("versions", "settings", "dataset", "source_sha256")


def sources(name):
    """The files whose code determines a training; no other network is among them."""
    environment = frameworks.ENVIRONMENTS[name]
    start = [frameworks.path(environment, file) for file in ("cnn", *modules.MIXED, "variants")]
    start = [path for path in start if os.path.isfile(os.path.join(files.ROOT, path))]
    start += ["common/lessons/%s.py" % file for file in ("initializers", "switches", "training")]
    own = "frameworks/%s/" % environment.folder
    return source.imported(start, ("common/data/", "common/networks/", own))


def begun(request, dataset):
    """The result file's content before the first training."""
    return OrderedDict(
        schema=SCHEMA_VERSION,
        status="unfinished",
        framework=request.framework,
        title=modules.find(request.framework).title,
        lane=request.lane,
        threads=request.threads,
        dataset=results.described(dataset),
        hyperparameters=dict(CNN.hp._asdict(), epochs=request.epochs),
        sources_sha256=source.code_sha256(sources(request.framework)),
        measured=OrderedDict(),
    )


class Study:
    """The trainings of a request, and their result.

    result: the result file's content. measured: {switch: {seed: figures}} in it.
    """

    def __init__(self, request):
        self.request = request
        self.switches = switches.available(request.framework, request.lessons)
        dataset = take(CNN.data(request.data), request.train_images, request.test_images)
        batches.order(request.train_images, CNN.hp.batch_size, 0, 0)  # InputError if too few
        self.path = request.out or result_path(request, dataset, machine.facts())
        files.check_writable(self.path)
        self.result = begun(request, dataset)

    @property
    def measured(self):
        return self.result["measured"]

    def resume(self, before):
        """Continue an earlier result unless code has changed; InputError if it is another study."""
        if before is None:
            return
        others = self.differing(before, ABOUT) if isinstance(before, dict) else ABOUT
        if others:
            words = console.shown(self.path), named(others)
            raise InputError("%s has other %s; name another file with --out" % words)
        if self.agrees(before, ["sources_sha256"]):
            self.result.update(before)

    def differing(self, other, keys):
        """Those of the keys whose values in another result differ."""
        now = json.loads(json.dumps(self.result))
        return [key for key in keys if other.get(key) != now[key]]

    def agrees(self, other, keys):
        """Whether another result has the same values; if not, print which are different."""
        others = self.differing(other, keys)
        if others:
            words = console.shown(self.path), named(others)
            print("restart    %s has other %s" % words, flush=True)
        return not others

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

    def task(self, key, seed):
        """One training, as a command in the framework's environment."""
        request = self.request
        arguments = ["-m", "common.lessons.training", request.framework, "--lane", request.lane]
        arguments += ["--switch", key] + tasks.recipe(request, seed)
        return tasks.Task((key, seed), request.framework, arguments)

    def run(self):
        """Train all that are left, writing after each; Stop if a training cannot continue."""
        from common.sweep import engine  # here, because reports and most tests do without Ray

        if not self.left():  # an earlier call may have had more seeds, or older code for effects
            self.keep({}, None)
        while self.left():  # again, if the earlier trainings had other versions
            engine.carry_out([self.task(*pair) for pair in self.left()], self.land)

    def land(self, outcome):
        """Keep a training's figures; Stop if there are none."""
        (key, seed), result = outcome.key, outcome.result
        if result is None:
            label = "%s, seed %d" % (key.replace("_", " "), seed)
            raise clocks.Stop("%s: %s" % (label, outcome.error.replace("error: ", "")))
        if source.code_sha256(sources(self.request.framework)) != self.result["sources_sha256"]:
            raise clocks.Stop("the code has changed since the study began")
        figures = result.pop("measured")
        if self.measured and not self.agrees(result, TRAINED_WITH):
            self.measured.clear()
        if not self.measured and key != PLAIN:
            return  # there is no plain one yet; ``run`` trains this again after it
        self.result.update(result, cpu=result["machine"]["cpu"])
        self.keep(figures, seed)
        values = (key.replace("_", " "), seed, 100 * figures[key]["accuracy"])
        print("%s, seed %d: %.2f%%" % values, flush=True)

    def keep(self, figures, seed):
        """Add figures to the result and write it; meanwhile, signals wait."""
        with commands.signals_wait():
            for key, its_figures in figures.items():
                self.measured.setdefault(key, OrderedDict())[str(seed)] = its_figures
            tested = self.result["dataset"]["test_images"]
            self.result.update(status="finished", **effects(self.measured, tested))
            if figures:
                self.result["made"] = files.now()
            self.result.pop("error", None)
            left = len(self.left())
            if left:
                self.result.update(status="unfinished", error="%d trainings are left" % left)
            files.write_json(self.path, self.result)


def named(keys):
    """Keys of a result as words."""
    return ", ".join(key.replace("_", " ") for key in keys)


def command(arguments):
    """Exit code 0 when every training is done, 1 if one failed."""
    study = Study(parse(arguments))
    try:
        with tasks.alone(study.path), tasks.left_if_stopped(study, console.shown(study.path)):
            study.resume(files.earlier(study.path))
            study.run()
    except clocks.Stop as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    print(summary(study.result))
    available = {switch.lesson for switch in study.switches.values()}
    for lesson in study.request.lessons:
        if lesson not in available:
            print("%-13s cannot be switched in %s here" % (lesson, study.request.framework))
    print("result file  %s" % console.shown(study.path))
    return 0
