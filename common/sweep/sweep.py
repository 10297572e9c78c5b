"""Train several frameworks with several seeds, and judge which reach the same accuracy.

The result file has every training. It is written whenever one ends, and a sweep that was stopped
continues from there.
"""

import os
from collections import OrderedDict

import frameworks
from common import networks
from common.proof import basis
from common.run import console
from common.sweep import engine, equivalence, tasks
from common.sweep.request import SCHEMA_VERSION, parse, result_path
from common.system import commands, files, modules, source
from common.system.errors import InputError

# The facts that a sweep copies from a training's own result file.
KEPT = ("made", "versions", "settings", "source_sha256")


def rests_on(contender, model):
    """A hash of what determines a training besides its seed: module, pins, recipe, batches."""
    name, lane = contender.split(":")
    network = "common/networks/%s" % networks.file(model)
    start = [network + ".py", network + "/__init__.py", "common/run/clocks.py"]
    start = [path for path in start if os.path.isfile(os.path.join(files.ROOT, path))]
    shared = source.imported(start, ("common/data/", "common/networks/"))
    return basis.own(name, model, lane) + source.code_sha256(shared)


class Sweep:
    """The trainings of a request, and their result.

    result: the result file's content. measured: {contender: {seed: figures}} in it.
    stale: contenders of an earlier request whose code or pins have changed since.
    """

    def __init__(self, request):
        self.request = request
        self.path = request.out or result_path(request)
        files.check_writable(self.path)
        self.result = OrderedDict(
            schema=SCHEMA_VERSION,
            status="unfinished",
            model=request.model,
            train_images=request.train_images,
            epochs=request.epochs,
            test_images=request.test_images,
            margin=request.margin,
            dataset=None,
            rests_on=OrderedDict(
                (contender, rests_on(contender, request.model)) for contender in request.contenders
            ),
            measured=OrderedDict((contender, OrderedDict()) for contender in request.contenders),
        )
        self.failed, self.stale = {}, set()
        self.resume(files.earlier(self.path))

    @property
    def measured(self):
        return self.result["measured"]

    @property
    def tested(self):
        """How many test images an accuracy is of; 1 before the first training."""
        dataset = self.result["dataset"]
        return self.result["test_images"] or (dataset["test_images"] if dataset else 1)

    def resume(self, before):
        """Keep the trainings of an earlier result whose code and recipe are the same."""
        if before is None:
            return
        recipe = ("schema", "model", "train_images", "epochs", "test_images")
        others = [key.replace("_", " ") for key in recipe if before.get(key) != self.result[key]]
        if others:
            words = (console.shown(self.path), ", ".join(others))
            raise InputError("%s has other %s; name another file with --out" % words)
        for contender, trainings in before["measured"].items():
            requested, earlier = contender in self.measured, before["rests_on"][contender]
            name = contender.partition(":")[0]
            known = name in frameworks.ENVIRONMENTS and modules.has(name, self.request.model)
            changed = not known or earlier != rests_on(contender, self.request.model)
            if changed and trainings:
                action = "restart" if requested else "not judged"
                print("%-11s%s: its code or pins have changed" % (action, contender), flush=True)
            if not changed or not requested:  # others' trainings are kept, though not judged
                self.result["rests_on"][contender] = earlier
                self.measured[contender] = trainings
                if trainings:
                    self.result["dataset"] = before["dataset"]
            if changed and not requested:
                self.stale.add(contender)

    def left(self):
        """The tasks still to run, seed by seed, so that all contenders have the same seeds."""
        return [
            self.task(contender, seed)
            for seed in range(self.request.seeds)
            for contender in self.request.contenders
            if str(seed) not in self.measured[contender] and (contender, seed) not in self.failed
        ]

    def task(self, contender, seed):
        """One training, as the command that runs a single framework."""
        request, (name, lane) = self.request, contender.split(":")
        arguments = ["-m", "common.run", name, "--model", request.model, "--lane", lane]
        return tasks.Task((contender, seed), name, arguments + tasks.recipe(request, seed))

    def run(self):
        """Train all that are left, and write the result after each."""
        left = self.left()
        if left and os.path.isfile(self.path):  # the first training replaces it
            self.judge()
        else:
            self.keep()
        if left:
            engine.carry_out(left, self.land, self.request.address, self.request.at_once)

    def land(self, outcome):
        """Keep a training's figures, or say why there are none."""
        (contender, seed), error = outcome.key, outcome.error
        label = "%s, seed %d" % (contender, seed)
        error = error or self.misfit(contender, outcome.result)
        if error is not None:
            self.failed[outcome.key] = error
            print("%-32s failed: %s" % (label, error), flush=True)
            return
        figures = described(outcome.result)
        with commands.signals_wait():
            self.measured[contender][str(seed)] = figures
            self.keep()
        values = (label, 100 * figures["accuracy"], figures["seconds"])
        print("%-32s %.2f%% in %.0f s" % values, flush=True)

    def misfit(self, contender, result):
        """Why a training cannot be compared with the earlier ones; None if it can."""
        name = result["dataset"]["name"]
        if rests_on(contender, self.request.model) != self.result["rests_on"][contender]:
            return "its code or pins have changed since the sweep began"
        if self.request.data == "auto" and name.startswith("synthetic"):
            return "there is no data to train on, and no network: " + name
        dataset = self.result["dataset"] = self.result["dataset"] or result["dataset"]
        if result["dataset"]["sha256"] != dataset["sha256"]:
            return "it had other data than the trainings before it"
        for figures in self.measured[contender].values():
            if figures["source_sha256"] != result["source_sha256"]:
                return "its machine has another version of the module"
        return None

    def keep(self):
        """Judge what there is, and write the result."""
        self.judge()
        files.write_json(self.path, self.result)

    def judge(self):
        """Judge what there is."""
        remaining = len(self.left())
        accuracies = OrderedDict(
            (contender, {seed: figures["accuracy"] for seed, figures in trainings.items()})
            for contender, trainings in self.measured.items()
            if contender not in self.stale
        )
        self.result["pairs"] = equivalence.verdicts(accuracies, self.request.margin, self.tested)
        self.result["margin"] = self.request.margin
        self.result["made"] = files.now()
        self.result["status"] = "unfinished" if remaining or self.failed else "finished"


def described(result):
    """A training in a sweep's result, from the training's own result."""
    figures = OrderedDict(
        accuracy=result["accuracy"]["value"],
        last_loss=result["losses"][-1],
        seconds=result["timings"]["train"],
        cpu=result["machine"]["cpu"],
        certificate=result["certificate"]["identity"],
    )
    figures.update((key, result[key]) for key in KEPT)
    return figures


def summary(result, stale=()):
    """A sweep as lines of text: each contender's accuracy, and each pair's verdict.

    stale: contenders that are not judged.
    """
    lines = [""]
    if result["dataset"]:
        lines.append("data: %s" % result["dataset"]["name"])
    for contender, trainings in result["measured"].items():
        points = [100 * figures["accuracy"] for figures in trainings.values()]
        if points:
            mean = sum(points) / len(points)
            values = (contender, mean, len(points), min(points), max(points))
            line = "%-24s %.2f%%, mean of %d seeds (%.2f to %.2f)" % values
            lines.append(line + ", before its code changed: not judged" * (contender in stale))
    lines.append("")
    lines.append("mean difference in points, paired by seed, with its 90% interval:")
    for pair in result["pairs"]:
        values = (pair["first"], pair["second"], pair["mean"], *pair["interval"])
        line = "%-24s %-24s %+.2f (%+.2f to %+.2f)  %s" % (values + (pair["verdict"],))
        lines.append(line + more(pair))
    lines.append("equivalent: the difference is certainly below %g point(s)." % result["margin"])
    return "\n".join(lines)


def more(pair):
    """How many seeds would decide a pair, for the end of its line; "" for a decided one."""
    if pair["verdict"] != equivalence.UNDECIDED:
        return ""
    if pair["seeds_needed"] is None:
        return ", and %d seeds would not decide it" % equivalence.MOST
    return "; about %d seeds would decide half of such pairs" % pair["seeds_needed"]


def command(arguments):
    """Exit code 0 when every training is done, 1 if one failed."""
    request = parse(arguments)
    with tasks.alone(request.out or result_path(request)):
        sweep = Sweep(request)
        with tasks.left_if_stopped(sweep, console.shown(sweep.path)):
            sweep.run()
    print(summary(sweep.result, sweep.stale))
    print("result file  %s" % console.shown(sweep.path))
    return 1 if sweep.failed else 0
