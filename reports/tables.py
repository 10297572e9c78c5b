"""The tables, made of the committed results and of the registry: cells are plain text."""

import json
from collections import namedtuple
from hashlib import sha256
from pathlib import Path

import frameworks
from common.bench import compare
from common.given.models import ALL, MODELS
from common.host import modules
from common.host.files import ROOT
from common.proof.contract import LANES
from common.proof.rungs import RUNGS
from reports import lessons
from reports.committed import HERE
from reports.studies import STUDIES

ORIGINAL = HERE / "original.json"
PLANTED = HERE / "mistakes"
EXCHANGES = HERE / "exchange"
DIAGNOSED = HERE / "diagnosis"
ANSWERS = HERE / "answers"
VERDICTS = ("named", "one of several", "located", "wrong", "not seen")  # of a diagnosis

Table = namedtuple("Table", "title note columns rows")
Table.__doc__ = """A table of text.

title, note: what stands above it; the note may be empty.
columns: their heads; one that ends in a space is of numbers, and set flush right.
rows: lists of cells, each a text or a (text, link) pair.
"""


def environments():
    """What is in the repository: a row for each environment."""
    rows = []
    for framework in frameworks.FRAMEWORKS.values():
        path = frameworks.path(framework)
        system = ", ".join(framework.system) or "-"
        rows.append([framework.name, framework.title, framework.python, system, (path, path)])
    columns = ["environment", "framework", "Python", "Debian packages", "read"]
    return Table("Environments", "", columns, rows)


def kind(result):
    """How long a run was, for people: images x epochs."""
    images = result["dataset"]["train_images"]
    return "{:,} × {}".format(images, result["hyperparameters"]["epochs"])


def _order(committed):
    result = committed.result
    names = list(frameworks.FRAMEWORKS)
    name = result["framework"]
    position = names.index(name) if name in names else len(names)
    length = result["dataset"]["train_images"] * result["hyperparameters"]["epochs"]
    return -length, position, LANES.index(result["lane"]), committed.path


def _titled(title, model):
    """The first model is what all speak of; the others are named."""
    return title if model is MODELS["cnn"] else "%s: %s" % (title, model.title)


def _label(result):
    """What a run is called; marked if its module's file is another one by now."""
    mark = "" if module_is_as_it_was(result) else " †"
    return "%s, %s%s" % (result["framework"], result["lane"], mark)


CHANGED = "† The module's file has changed since."


def module_is_as_it_was(result):
    """Whether the module's file is the one that the run was made with."""
    if result["framework"] not in frameworks.FRAMEWORKS:
        return False
    framework = frameworks.FRAMEWORKS[result["framework"]]
    path = Path(ROOT, frameworks.path(framework, result.get("model", "cnn")))
    return path.is_file() and sha256(path.read_bytes()).hexdigest() == result["source_sha256"]


def machines(used):
    """The names of the machines that there are results of."""
    return sorted({one.machine for one in used.runs + used.benches})


def ordered(committed):
    """The longest runs first, and in the order of the registry."""
    return sorted(committed, key=_order)


def of_model(committed, model):
    """The runs of one model; result files say nothing of the CNN where there was no other."""
    return [one for one in committed if one.result.get("model", "cnn") == model.name]


def latest(committed):
    """Of each framework and lane the run that was made last, in the order of the registry."""
    found = {}
    for one in sorted(committed, key=lambda one: one.result["made"]):
        found[one.result["framework"], one.result["lane"]] = one
    return sorted(found.values(), key=lambda one: _order(one)[1:])


def certificates(committed, model):
    """Rung by rung the error measured and the tolerance, of each framework's latest run."""
    rows = []
    for one in latest(of_model(committed, model)):
        rungs = {rung["rung"]: rung for rung in one.result["certificate"]["rungs"]}
        cells = [(_label(one.result), one.path)]
        for name in RUNGS:
            rung = rungs.get(name)
            if rung is None:
                cells.append("-")
            elif rung["tolerance"] == 0 and rung["passed"]:
                cells.append("equal")
            else:
                error = "none" if rung["error"] is None else "%.1e" % rung["error"]
                failed = "" if rung["passed"] else "FAILED "
                cells.append("%s%s of %.1e" % (failed, error, rung["tolerance"]))
        rows.append(cells)
    note = (
        "Of each committed run. A cell is error of tolerance, for the check of that rung that came "
        "closest to failing; equal: an exact check; -: a rung that this network does not have. "
        "Checks have different units, so compare an error with its own tolerance only. " + CHANGED
    )
    return Table(
        _titled("Certificates", model), note, ["run"] + [name + " " for name in RUNGS], rows
    )


def shares(committed, model):
    """The certificates once more, for the page: of each cell the share of its tolerance.

    {"title", "model", "rungs", "rows"}; what failed comes first. None where there is no run.
    """
    runs = latest(of_model(committed, model))
    if not runs:
        return None
    asked = [name for name in RUNGS if any(_rung(one, name) for one in runs)]
    rows = []
    for one in runs:
        found = [_rung(one, name) for name in asked]
        rows.append(
            {
                "label": _label(one.result),
                "path": one.path,
                "passed": sum(1 for rung in found if rung and rung["passed"]),
                "of": sum(1 for rung in found if rung),
                "cells": [_share(rung) for rung in found],
            }
        )
    rows.sort(key=lambda row: row["passed"] - row["of"])
    return {"title": model.title, "model": model.name, "rungs": asked, "rows": rows, "runs": runs}


def _rung(one, name):
    rungs = one.result["certificate"]["rungs"]
    return next((rung for rung in rungs if rung["rung"] == name), None)


def _share(rung):
    """A cell of the certificates: what the worst check used of its tolerance."""
    cell = {"failed": False, "value": "", "text": "-", "share": None, "raw": ""}
    if rung is None:
        return cell
    error, tolerance = rung["error"], rung["tolerance"]
    cell["failed"] = not rung["passed"]
    told = "no number" if error is None else "%.1e" % error
    cell["raw"] = "%s of %.1e, %d checks: %s" % (told, tolerance, rung["checks"], rung["what"])
    if tolerance == 0 and rung["passed"]:
        return dict(cell, text="equal", value=0)
    if error is None or tolerance == 0:
        return dict(cell, text="FAILED", value=1e9, share=100)
    percent = 100 * error / tolerance
    text = "%.0f%%" % percent if percent >= 1 else "< 1%"
    if not rung["passed"]:
        text = "FAILED: %.3g times the tolerance" % (percent / 100)
    return dict(cell, text=text, value="%.4g" % percent, share=min(100, round(percent, 1)))


def planted(model):
    """What came of planting the known mistakes in a model, by environment, in registry's order."""
    suffix = "-%s.json" % model.name
    paths = {name: PLANTED / (name + suffix) for name in frameworks.FRAMEWORKS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def mistakes(model):
    """A row for each mistake that can be made anywhere: the rung that caught it, by environment."""
    environments = planted(model)
    rows = []
    names = dict.fromkeys(name for one in environments.values() for name in one["outside"])
    for name in names:
        planted_here = [one["outside"].get(name) for one in environments.values()]
        caught = [found[1] or "MISSED" if found else "-" for found in planted_here]
        rows.append([name.replace("_", " ")] + caught)
    note = (
        "Each was put into each environment's module on purpose, and the certificate climbed: "
        "the rung that caught it; - where it has not been planted yet."
    )
    return Table(_titled("Planted mistakes", model), note, ["mistake"] + list(environments), rows)


def own_mistakes(model):
    """A row for each environment: its framework's own traps, and whether any were missed."""
    environments = planted(model)
    rows = []
    for name, one in environments.items():
        all_of_them = list(one["outside"].values()) + list(one["own"].values())
        caught = sum(1 for _, rung in all_of_them if rung)
        traps = [
            "%s (%s)" % (trap.replace("_", " "), at or "MISSED")
            for trap, (_, at) in one["own"].items()
        ]
        alarms = [lane for lane, rungs in one["false_alarms"].items() if rungs]
        rows.append(
            [
                name,
                "%d of %d" % (caught, len(all_of_them)),
                ", ".join(alarms) or "none",
                ", ".join(traps) or "none yet",
            ]
        )
    note = "Changes to the module's own source, as somebody who ports to this framework makes them."
    columns = [
        "environment",
        "caught, with those above ",
        "lanes in which the untouched module failed",
    ]
    columns += ["its own traps, and the rung"]
    return Table(_titled("Each framework's own traps", model), note, columns, rows)


def results(committed, machine, model):
    """Accuracy, time and memory of the runs on one machine; no time without its certificate."""
    rows = []
    for one in ordered(one for one in of_model(committed, model) if one.machine == machine):
        result = one.result
        times = result.get("timings", {})
        cells = [(_label(result), one.path), kind(result)]
        if "accuracy" in result:
            shares = [result["accuracy"]["value"]] + result["accuracy"]["interval"]
            cells.append("%.2f%% (%.2f–%.2f)" % tuple(100 * share for share in shares))
        elif "joint_error" in result:
            error = result["joint_error"]
            cells.append("%.4f (%.4f)" % (error["value"], error["of_the_mean_pose"]))
        else:
            error = result["rms_error"]
            cells.append("%.4f (%.4f)" % (error["one_step_ahead"], error["free_running"]))
        if result["certificate"]["passed"]:
            step = times["step"]
            spread = tuple(1e3 * seconds for seconds in [step["median"]] + step["quartiles"])
            share = times.get("share_of_matmul")
            cells += [
                "%.0f s" % times["train"],
                "%.2f s" % times["first_step"],
                "%.0f ms (%.0f–%.0f)" % spread,
                "%.0f" % times["images_per_second"],
                "-" if share is None else "%.0f%%" % (100 * share),
            ]
        else:
            cells += ["not proven"] + ["-"] * 4
        memory = result.get("peak_memory_bytes")
        cells.append("%.2f GB" % (memory / 1e9) if memory else "-")
        rows.append(cells)
    figure = {
        "accuracy": "accuracy (95% interval) ",
        "rms_error": "error one step ahead (free-running) ",
        "joint_error": "distance (the mean pose's) ",
    }[model.task.figure]
    noun = model.task.observations
    columns = ["run", "%s × epochs" % noun, figure, "training ", "first step "]
    columns += ["step, median (quartiles) ", "%s/s " % noun, "of matrix product ", "peak memory "]
    return Table(_titled("Results: %s" % machine, model), CHANGED, columns, rows)


def planted_says(model):
    """A sentence of what came of planting the known mistakes in all environments."""
    environments = planted(model).values()
    found = [
        pair for one in environments for kind in ("outside", "own") for pair in one[kind].values()
    ]
    caught = sum(1 for _, rung in found if rung)
    alarms = sum(1 for one in environments for rungs in one["false_alarms"].values() if rungs)
    return (
        "Known mistakes were put into every framework's %s on purpose, %d times in %d "
        "environments: %d were caught. The untouched modules failed in %d lanes."
    ) % (model.title, len(found), len(environments), caught, alarms)


def original():
    """The published figures of the comparison that this began with."""
    content = json.loads(ORIGINAL.read_text(encoding="utf-8"))
    note = "%s Source: %s." % (content["what"], content["source"])
    return Table("Beside the original", note, content["columns"], content["rows"])


def differs():
    """What differs between that comparison and this one, as sentences."""
    return json.loads(ORIGINAL.read_text(encoding="utf-8"))["differs"]


def learnt(used):
    """The lessons of that comparison: a row for each, with what is found here."""

    def place(one):
        return " on " + one.machine if several else ""

    def of_study(one):
        mark = "" if module_is_as_it_was(one.result) else " †"
        found = one.result
        told = (found["framework"], found["lane"], kind(found), place(one), mark)
        return "%s, %s, %s%s%s" % told

    def of_bench(one, key):
        return key.replace(":", ", ") + place(one)

    benches = [one for one in used.benches if one.result["model"] == "cnn"]
    several = len({one.machine for one in benches + used.studies}) > 1
    rows = []
    for lesson in lessons.LESSONS:
        findings = lessons.in_accuracy(lesson, used.studies, of_study)
        findings += lessons.in_time(lesson, benches, of_bench)
        told = "; ".join(finding.text for finding in findings) or "-"
        paths = {finding.path for finding in findings}
        rows.append(
            [
                lesson.says,
                lesson.published,
                (told, paths.pop()) if len(paths) == 1 else told,
                lessons.together(lesson, findings),
                lesson.command or "-",
            ]
        )
    note = (
        "That comparison drew ten lessons, from one run each. Here each is a switch that is "
        "thrown. In points of accuracy: that of a training with it less that of one without, from "
        "the same seeds; the mean over the seeds, with its 95% interval (Student). In speed: lane "
        "best with that change against lane best, the ratio with its 95% interval. Held: the "
        "interval lies on the side that was published. No difference shown: it reaches over both "
        "sides, which is no proof that there is none. Each interval stands alone: of twenty equal "
        "pairs, one may show a difference. " + CHANGED
    )
    columns = ["lesson", "published", "found here", "verdict", "command"]
    return Table("The original's lessons", note, columns, rows)


def networks():
    """Which environment has which model, where to read it, and whether it is proven."""
    proven = {model.name: planted(model) for model in MODELS.values()}
    rows = []
    for framework in frameworks.FRAMEWORKS.values():
        cells = [framework.name]
        for model in MODELS:
            path = frameworks.path(framework, model)
            if not modules.has(framework.name, model):
                cells.append("-")
                continue
            lanes = proven[model].get(framework.name, {}).get("false_alarms", {})
            passed = [lane for lane in LANES if lanes.get(lane) == []]
            cells.append(("proven: %s" % " and ".join(passed) if passed else "not shown", path))
        rows.append(cells)
    note = (
        "What --model takes in each environment. proven: the lanes whose certificate is on record, "
        "made when the known mistakes were planted; not shown: the module is here, and no "
        "certificate is committed; -: there is no such module."
    )
    columns = ["environment"] + [model.title for model in MODELS.values()]
    return Table("Networks", note, columns, rows)


def proofs(committed):
    """What shows that all compute the same, and that it would be seen if they did not."""
    tables = [certificates(committed, model) for model in ALL.values()]
    for model in MODELS.values():
        if planted(model):
            tables += [mistakes(model), own_mistakes(model)]
    return [one for one in tables if one.rows]


def compared(bench):
    """A bench's contenders, the fastest first; none has a time that was not proven before."""
    found = bench.result
    model = ALL[found["model"]]
    rows = []
    for key, one in sorted(found["contenders"].items(), key=lambda item: -item[1]["ratio"]):
        product = one.get("share_of_matmul")
        rows.append(
            [
                (key.replace(":", ", "), bench.path),
                one["verdict"],
                "%.3f (%.3f–%.3f)" % ((one["ratio"],) + tuple(one["interval"])),
                "%.0f" % one["per_second"],
                "-" if product is None else "%.0f%%" % (100 * product),
                "%.1f%%" % (100 * one["within_runs"]),
                "%.1f%%" % (100 * one["between_runs"]),
                "%.0f%%" % (100 * max(one["others"])),
            ]
        )
    note = (
        "Proven, and then timed in turn, on {}: {} runs, {} threads, batches of {}. The ratio of "
        "speed is that to {}, with its 95% interval; where that holds 1, no difference was shown. "
        "Within and between runs: how far the ratios of the rounds of a run, and of the runs, are "
        "apart. Others: the most that other programs used of the cores meanwhile."
    ).format(
        found["made"][:10],
        found["runs"],
        found["threads"],
        found["batch_size"],
        found["baseline"].replace(":", ", "),
    )
    columns = ["contender", "", "ratio of speed (95%) ", "%s/s " % model.task.observations]
    columns += ["of matrix product ", "within runs ", "between runs ", "others "]
    title = _titled("Which is faster: %s" % bench.machine, model)
    return Table(title, note, columns, rows)


def scaled(bench):
    """What a step costs whatever its batch, and what an image of it: of a bench of batch sizes."""
    found, model = bench.result, ALL[bench.result["model"]]
    rows = []
    for key, one in found.get("scaling", {}).items():
        sizes, memory = one["batch_sizes"], one["peak_memory_bytes"]
        rows.append(
            [
                (key.replace(":", ", "), bench.path),
                "%.3g ms" % (1e3 * one["overhead_per_step"]),
                "%.3g s" % (1e3 * one["seconds_per_image"]),
                "%.0f%%" % (100 * one["largest_error"]),
                "%d to %d" % (sizes[0], sizes[-1]),
                "%.2f to %.2f GB" % (memory[0] / 1e9, memory[-1] / 1e9),
            ]
        )
    noun = model.task.observations
    note = (
        "A step's time as a part that is the same for each batch, and one for each of its {0}: the "
        "two that fit best, and by how much a step is off at most. Memory: of the process, at its "
        "peak ({1}, {2} threads)."
    ).format(noun, found["made"][:10], found["threads"])
    columns = ["contender", "a step ", "1,000 %s " % noun, "off ", "batches ", "memory "]
    return Table(_titled("What a step costs: %s" % bench.machine, model), note, columns, rows)


def pulled(benches, machine, model):
    """What each lever of a network gave: those that lane best has, and others that were tried."""
    rows, when = [], set()
    for bench in benches:
        for key, one in bench.result["contenders"].items():
            name, _, lever = key.partition("@")[0].partition(":best+")
            known = modules.levers(name, model.name).get(lever)
            if known is None or bench.result["baseline"] != key.replace("+" + lever, ""):
                continue
            ratio, (low, high) = one["ratio"], one["interval"]
            if known.kept:  # the lever takes it away
                ratio, low, high = 1 / ratio, 1 / high, 1 / low
            rows.append(
                [
                    (name, bench.path),
                    known.says,
                    str(one.get("batch_size", bench.result["batch_size"])),
                    "%.3f (%.3f–%.3f)" % (ratio, low, high),
                    compare.verdict((low, high)),
                    "yes" if known.kept else "no",
                ]
            )
            when.add(bench.result["made"][:10])
    study = STUDIES.get(model.name)
    title = study.question if study else "What was tried"
    note = (
        "Each alone, in lane best, with it against without it, proven and timed in turn ({}): "
        "`tox run -e bench -- NAME --levers{}`. They stand in frameworks/levers.py."
    ).format(", ".join(sorted(when)), "" if model is ALL["cnn"] else " --model " + model.name)
    if study:
        answers = "; ".join("%s, %s: %s" % (row[0][0], row[1], row[4]) for row in rows)
        note = "%s. %s. Published: %s. %s" % (answers, study.told, study.published, note)
    columns = ["environment", "lever", "batch ", "ratio of speed (95%) ", "", "in lane best"]
    return Table("%s: %s" % (title.rstrip("?"), machine), note, columns, rows)


def files():
    """Which files of its own each environment reads and writes, and where that is done."""
    rows = []
    for framework in frameworks.FRAMEWORKS.values():
        path = frameworks.path(framework, "native")
        if modules.has(framework.name, "native") and not framework.gpu:
            rows.append([framework.name, " ".join(framework.endings), (path, path)])
    return Table("Own files", "", ["environment", "own files", "read"], rows)


def exchanged(model):
    """What came of carrying weights from each framework to each; None if it was not done."""
    path = EXCHANGES / (model.name + ".json")
    if not path.is_file():
        return None
    found = json.loads(path.read_text())
    names = list(found["frameworks"])
    rows = []
    for taker, row in found["takers"].items():
        cells = []
        for giver in names:
            if giver not in row:
                cells.append("-")
                continue
            off = not row[giver]["error"] <= found["frameworks"][giver]["tolerance"]  # or NaN
            cells.append("%s%.1e" % ("OFF " if off else "", row[giver]["largest_difference"]))
        own = found["frameworks"].get(taker, {"files": [".onnx"]})["files"]
        rows.append([taker, ", ".join(own)] + cells)
    note = (
        "Each framework trained {} steps and saved its weights in its own files; in another "
        "process it read them again, bit for bit; each other one took them over, and predicted "
        "{:,} {}. A row for each that took, a column for each that gave: the largest difference "
        "from the giver's own {}. All are the float64 reference's within the certificate's "
        "tolerance, unless OFF is said. -: it is not written as ONNX here."
    ).format(found["steps"], found["observations"], model.task.observations, model.task.outputs)
    columns = ["taken by", "own files"] + [name + " " for name in names]
    return Table(_titled("Exchange", model), note, columns, rows)


def diagnosed(model):
    """How well a diagnosis names mistakes that were made on purpose; None if it was not tried."""
    suffix = "-%s.json" % model.name
    rows = []
    for name in frameworks.FRAMEWORKS:
        path = DIAGNOSED / (name + suffix)
        if not path.is_file():
            continue
        found = json.loads(path.read_text())
        off = [
            "%s (%s)" % (mistake.replace("_", " "), one["verdict"])
            for mistake, one in found["mistakes"].items()
            if one["verdict"] != "named"
        ]
        rows.append(_verdicts(name, found["singles"]) + [_as_certified(name + suffix), _told(off)])
    path = DIAGNOSED / (model.name + ".json")
    if path.is_file():
        found = json.loads(path.read_text())
        for kind_of, says in (("singles", "the causes it knows"), ("pairs", "pairs of these")):
            off = [
                "%s (%s)" % (" and ".join(one["made"]), one["verdict"])
                for one in found[kind_of]["not_named"]
            ]
            rows.append(_verdicts("numpy, " + says, found[kind_of]) + ["-", _told(off)])
    if not rows:
        return None
    note = (
        "Known mistakes were put into the modules on purpose; each module answered a challenge, "
        "and the answer was checked as anyone's would be. Named: the cause, and it alone, was "
        "said. One of several: others that give the same numbers were said, too. Located: the rung "
        "or the stage, and no cause. Not seen: the answer passes. Left out are those that only a "
        "later step, a second model or a second run could show. Judged as certified: on how many "
        "rungs the verdict on the untouched module's answer is that of its certificate."
    )
    columns = ["environment"] + [one + " " for one in VERDICTS]
    columns += ["judged as certified", "not named"]
    return Table(_titled("Diagnosis", model), note, columns, rows)


def _verdicts(name, counts):
    return [name] + [str(counts.get(verdict, 0)) for verdict in VERDICTS]


def _told(off):
    return "; ".join(off) or "-"


def _as_certified(file):
    """Of an untouched module's answer: how many rungs were judged as its certificate judges."""
    path = ANSWERS / file
    if not path.is_file():
        return "-"
    rungs = json.loads(path.read_text())["rungs"].values()
    return "%d of %d rungs" % (sum(1 for one, other in rungs if one == other), len(rungs))


def measured(used, machine):
    """What was measured on one machine: the benches, and a table of results for each model."""
    tables = [results(used.runs, machine, model) for model in ALL.values()]
    return benched(used, machine) + [one for one in tables if one.rows]


def benched(used, machine):
    """The benches of one machine: a table for each, but one for all levers of a network."""
    benches = [one for one in used.benches if one.machine == machine]
    plain = [one for one in benches if not any("+" in key for key in one.result["contenders"])]
    tried = [
        pulled([one for one in benches if one.result["model"] == name], machine, model)
        for name, model in ALL.items()
    ]
    made = [make(one) for one in plain for make in (compared, scaled)]
    return [one for one in made + tried if one.rows]


def every(used):
    """All tables, in the order in which they are read."""
    made = [one for machine in machines(used) for one in measured(used, machine)]
    further = [one(model) for one in (diagnosed, exchanged) for model in MODELS.values()]
    further = [one for one in further if one]
    return (
        [environments(), networks()]
        + proofs(used.runs)
        + further
        + made
        + [learnt(used), original()]
    )
