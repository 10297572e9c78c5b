"""python -m common.lessons.study [NAME]: the CNN trained plainly, and with each switch thrown.

The original comparison drew its lessons from one run each. Here the plain training and those with a
switch thrown have the same seeds, so that their accuracies can be subtracted seed by seed. What is
trained is kept in the result file, and a study that was stopped goes on from there.
"""

import gc
import glob
import hashlib
import json
import os
import sys
import time
from collections import OrderedDict

import numpy as np

from common.data import batches
from common.data.dataset import take
from common.lessons import differences, switches, training
from common.networks import ALL
from common.networks.cnn import CNN
from common.proof import certificate, contract
from common.run import clocks, console
from common.system import commands, environments, files, machine, modules

SCHEMA_VERSION = 1
PLAIN = "plain"  # the key of the training that the others are compared with

# Trainings of files that differ in any of these are not put together.
RESTS_ON = ("schema", "framework", "lane", "threads", "cpu", "versions", "settings", "dataset")
RESTS_ON += ("hyperparameters", "sources_sha256")

# What a training here is made of, besides the framework's own folder without other networks.
SOURCES = (
    "common/data/*",
    "common/networks/*",
    "common/lessons/initializers",
)
SOURCES += ("common/lessons/switches", "common/lessons/training")


def parse(arguments):
    """The command line's options; InputError where it is off."""
    parser = commands.OneLineParser(prog="python -m common.lessons", description=__doc__)
    number, cores = commands.whole_number, machine.usable_cores()
    parser.add_argument("name", nargs="?", default="pytorch", metavar="NAME", help="the framework")
    parser.add_argument(
        "--lessons", choices=switches.LESSONS, nargs="+", default=switches.LESSONS, metavar="KEY"
    )
    parser.add_argument(
        "--seeds", type=seed_count, default=3, metavar="N", help="of each training, by default 3"
    )
    parser.add_argument("--train-images", type=number, metavar="N", help="the first N")
    parser.add_argument("--epochs", type=number, metavar="N", help="passes over the images")
    parser.add_argument("--test-images", type=number, metavar="N", help="the first N")
    parser.add_argument("--data", default="auto", metavar="auto|synthetic|PATH", help="its images")
    parser.add_argument("--lane", choices=contract.ALL_LANES, default="best", help="the settings")
    parser.add_argument("--threads", type=commands.thread_count, default=cores, metavar="N")
    parser.add_argument("--out", metavar="RESULT.json", help="the result file")
    options = parser.parse_args(arguments)
    modules.find(options.name)
    modules.check_lane(options.name, options.lane)  # before its environment is made
    images, epochs = CNN.quick
    options.train_images = options.train_images or images
    options.epochs = options.epochs or epochs
    return options


def seed_count(text):
    """An option's value: one seed has no interval."""
    return commands.whole_number(text, least=2)


def result_path(options, dataset, facts):
    """Where a result goes without ``--out``; seeds and lessons of several calls go into one."""
    parts = [options.name, options.lane, "%dx%d" % (options.train_images, options.epochs)]
    parts += ["synthetic"] if dataset.name.startswith("synthetic") else []
    parts += ["%dtest" % options.test_images] if options.test_images else []
    parts += ["%dthreads" % options.threads] if options.threads != facts["cores"] else []
    folder = os.path.join(files.ROOT, "reports", "lessons", machine.folder_name(facts))
    return os.path.join(folder, "-".join(parts) + ".json")


def sources_sha256(module):
    """sha256 of the sources that a training is made of."""
    own = os.path.dirname(os.path.relpath(module.__file__, files.ROOT))
    others = [os.path.join(files.ROOT, own, name + ".py") for name in ALL if name != CNN.name]
    digest = hashlib.sha256()
    for pattern in SOURCES + (own + "/*",):
        for path in sorted(glob.glob(os.path.join(files.ROOT, pattern + ".py"))):
            if path not in others:
                with open(path, "rb") as file:
                    digest.update(file.read())
    return digest.hexdigest()


class Study:
    """What is trained, and what came of it.

    found: the result file's content; ``measured`` in it has {switch: {seed: figures}}.
    """

    def __init__(self, options):
        self.options = options
        self.plain = switches.plain(options.name, options.lane, CNN)
        self.switches = switches.of(options.name, options.lessons)
        module, framework = self.plain.module, modules.find(options.name)
        settings = module.configure(options.lane, options.threads, 0)
        dataset = take(CNN.data(options.data), options.train_images, options.test_images)
        batches.order(options.train_images, CNN.hp.batch_size, 0, 0)  # enough for a batch?
        facts = machine.facts()
        self.path = options.out or result_path(options, dataset, facts)
        files.check_writable(self.path)
        self.found = OrderedDict(
            schema=SCHEMA_VERSION,
            status="unfinished",
            framework=options.name,
            title=framework.title,
            lane=options.lane,
            threads=options.threads,
            cpu=facts["cpu"],
            versions=machine.versions(framework.package),
            machine=facts,
            settings={key: value for key, value in settings.items() if key != "seed"},
            dataset={
                "name": dataset.name,
                "sha256": dataset.sha256,
                "train_images": len(dataset.train_labels),
                "test_images": len(dataset.test_labels),
            },
            hyperparameters=dict(CNN.hp._asdict(), epochs=options.epochs),
            source_sha256=modules.source_sha256(module),
            sources_sha256=sources_sha256(module),
            measured=OrderedDict(),
        )
        self.take_up(earlier(self.path))
        proof = certificate.obtain(CNN, options.name, module, options.lane, settings)
        if not proof["passed"]:
            raise clocks.Stop("%s, lane %s, is not proven" % (options.name, options.lane))
        self.found["certificate"] = {key: proof[key] for key in ("passed", "identity")}
        x, x_test = map(batches.as_float, (dataset.train_images, dataset.test_images))
        self.x, self.y = module.load(x, dataset.train_labels, settings)
        self.x_test, _ = module.load(x_test, dataset.test_labels, settings)
        self.labels = dataset.test_labels

    def take_up(self, before):
        """Go on from an earlier study, if it rests on the same; else say that it does not."""
        if before is None:
            return
        now = json.loads(json.dumps(self.found))
        others = [key.replace("_", " ") for key in RESTS_ON if before.get(key) != now[key]]
        if others:
            told = (console.shown(self.path), ", ".join(others))
            print("anew       %s has other %s" % told, flush=True)
        else:
            self.found.update(before)

    def left(self):
        """The (switch, seed) that are still to be trained, seed by seed, the plain one first.

        What changes prediction alone is measured when the plain one is trained.
        """
        keys = [PLAIN] + [key for key, switch in self.switches.items() if not switch.predicts]
        measured = self.found["measured"]
        return [
            (key, seed)
            for seed in range(self.options.seeds)
            for key in keys
            if str(seed) not in measured.get(key, {})
        ]

    def run(self):
        """Train all that is left, and write after each; Stop where one cannot go on."""
        left = self.left()
        self.estimate(left)
        for number, (key, seed) in enumerate(left):
            label = "%s, seed %d" % (key.replace("_", " "), seed)
            try:
                news = self.trained(key, seed, label)
            except clocks.Stop as stop:
                raise clocks.Stop("%s: %s" % (label, stop))
            gc.collect()  # a model may hold itself in a circle
            self.keep(news, seed, left[number + 1 :])
            self.estimate(left[number + 1 :])
        if not left:  # an earlier call may have been asked for more, or have reckoned otherwise
            self.keep({}, None, [])

    def trained(self, key, seed, label):
        """{switch: figures} of one training, and of what its weights serve for."""
        options, one = self.options, self.plain
        if key != PLAIN:
            one = switches.thrown(options.name, options.lane, self.switches[key], one)
        started = time.perf_counter()
        weights = one.initialize(CNN.shapes, seed)
        model = training.build(one, options.lane, options.threads, seed, weights)
        losses = training.train(one, model, self.x, self.y, seed, options.epochs, label)
        accuracy = training.accuracy(one, model, self.x_test, self.labels)
        seconds = time.perf_counter() - started
        found = {key: {"accuracy": accuracy, "last_loss": losses[-1], "seconds": seconds}}
        if key == PLAIN:
            found.update(self.predicted(one.module.weights(model), seed))
        return found

    def predicted(self, weights, seed):
        """{switch: figures} of those that change prediction alone, with trained weights."""
        options, found = self.options, {}
        for key, switch in switches.of(options.name, switches.LESSONS).items():
            if switch.predicts:
                one = switches.thrown(options.name, options.lane, switch, self.plain)
                model = training.build(one, options.lane, options.threads, seed, weights)
                accuracy = training.accuracy(one, model, self.x_test, self.labels)
                found[key] = {"accuracy": accuracy}
        return found

    def keep(self, news, seed, left):
        """Write what is known now; a signal has to wait until that is done."""
        with commands.signals_wait():
            measured = self.found["measured"]
            for key, figures in news.items():
                measured.setdefault(key, OrderedDict())[str(seed)] = figures
            self.found.update(status="finished", **shown(measured))
            if news:
                self.found["made"] = files.now()
            self.found.pop("error", None)
            if left:
                self.found.update(status="unfinished", error="%d are to be trained" % len(left))
            files.write_json(self.path, self.found)

    def estimate(self, left):
        """Say how many are left, and how long they will take, as far as that is known."""
        measured = self.found["measured"].values()
        figures = [one for seeds in measured for one in seeds.values()]
        seconds = [one["seconds"] for one in figures if "seconds" in one]
        if not left:
            told = "nothing to be trained"
        elif not seconds:
            told = "%d trainings; the first one says how long they take" % len(left)
        else:
            each = float(np.median(seconds))
            told = "%d trainings of %.0f s: about %s" % (len(left), each, spell(each * len(left)))
        print("left       %s" % told, flush=True)


def spell(seconds):
    """A time in words."""
    hours, minutes = divmod(max(1, int(round(seconds / 60))), 60)
    return "%d h %d min" % (hours, minutes) if hours else "%d min" % minutes


def earlier(path):
    """What an earlier call wrote; None if there is no such file, {} if it cannot be read."""
    try:
        with open(path) as file:
            found = json.load(file, object_pairs_hook=OrderedDict)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def shown(measured):
    """What the trainings show: how they spread, and each switch's difference to the plain ones.

    What changes prediction alone is compared with the same trained weights, which differ by less.
    """
    plain = measured[PLAIN]
    points = [100 * one["accuracy"] for one in plain.values()]
    mean, interval = differences.student(points)
    deviation = float(np.std(points, ddof=1)) if len(points) > 1 else None
    thrown = [(key, one) for key, one in switches.SWITCHES.items() if key in measured]
    trained = {key: measured[key] for key, one in thrown if not one.predicts}
    chance = differences.residual(dict(trained, plain=plain))
    compared = OrderedDict(
        (key, differences.paired(plain, measured[key], chance if key in trained else None))
        for key, _ in thrown
    )
    return {
        "plain": {"mean": mean, "interval": interval, "standard_deviation": deviation},
        "residual": chance and dict(zip(("standard_deviation", "degrees_of_freedom"), chance)),
        "differences": OrderedDict((key, one) for key, one in compared.items() if one),
    }


def summary(found):
    """A study in a few lines of text."""
    plain, seeds = found["plain"], len(found["measured"][PLAIN])
    told = (plain["mean"], seeds, plain["standard_deviation"])
    lines = ["", "plain      %.2f%%, mean of %d seeds; standard deviation %.2f points" % told]
    if found["residual"]:
        told = found["residual"]["standard_deviation"], found["residual"]["degrees_of_freedom"]
        lines.append("chance     %.2f points beside seed and switch; %d degrees of freedom" % told)
    lines.append("against that, in points, seed by seed, with the 95% interval:")
    for key, one in found["differences"].items():
        switch = switches.SWITCHES[key]
        told = (switch.lesson, switch.says, one["mean"]) + tuple(one["interval"])
        told += (len(one["points"]), one["verdict"])
        lines.append("%-13s %-31s %+6.2f (%+.2f to %+.2f), %d seeds: %s" % told)
    return "\n".join(lines)


def start(arguments):
    """Make the framework's environment, and become the study in it."""
    name = parse(arguments).name
    environments.make([name])
    inside = environments.inside(name, "-m", "common.lessons.study", *arguments)
    environ = {key: value for key, value in os.environ.items() if key != commands.SPEAKER}
    sys.stdout.flush()
    os.execve(inside[0], inside, environ)  # the study itself says why it was stopped


def command(arguments):
    """Exit code 0 when all that was asked for is trained, 1 if it had to stop."""
    options = parse(arguments)
    machine.restart_with(
        modules.environ(options.name, options.lane), "common.lessons.study", arguments
    )
    machine.limit_threads(options.threads)
    study = None
    try:
        study = Study(options)
        study.run()
    except clocks.Stop as error:
        print("error: %s" % error, file=sys.stderr)
        return 1
    except BaseException as error:
        stop = commands.interrupt_in(error)
        if stop is None or study is None:
            raise
        told = (commands.reason(stop), len(study.left()), console.shown(study.path))
        stop.args = ("%s; %d are left to be trained, the others are in %s" % told,)
        raise stop
    missing = [
        lesson
        for lesson in options.lessons
        if lesson not in [switch.lesson for switch in study.switches.values()]
    ]
    print(summary(study.found))
    for lesson in missing:
        print("%-13s cannot be switched in %s here" % (lesson, options.name))
    print("result file  %s" % console.shown(study.path))
    return 0


if __name__ == "__main__":
    sys.exit(commands.guarded(command, sys.argv[1:]))
