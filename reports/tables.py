"""The tables, made of the committed results and of the registry: cells are plain text."""

import json

import frameworks
from common.networks import ALL, MODELS
from common.proof.contract import LANES
from common.proof.rungs import RUNGS
from common.system import modules
from reports.bench_tables import benched
from reports.committed import HERE
from reports.lessons import learnt
from reports.profile_tables import spent
from reports.table import CHANGED, Table, kind, label, position, titled

ORIGINAL = HERE / "original.json"
PLANTED = HERE / "mistakes"
EXCHANGES = HERE / "exchange"
DIAGNOSED = HERE / "diagnosis"
ANSWERS = HERE / "answers"
HEADLINE = "50,000 × 10"  # the original's training
VERDICTS = ("named", "one of several", "located", "wrong", "not seen")  # of a diagnosis


def environments():
    """What is in the repository: a row for each environment."""
    rows = []
    for framework in frameworks.ENVIRONMENTS.values():
        path = frameworks.path(framework)
        system = ", ".join(framework.system) or "-"
        rows.append([framework.name, framework.title, framework.python, system, (path, path)])
    columns = ["environment", "framework", "Python", "Debian packages", "read"]
    return Table("Environments", "", columns, rows)


def _order(committed):
    result = committed.result
    length = result["dataset"]["train_images"] * result["hyperparameters"]["epochs"]
    return (-length, *position(result), committed.path)


def machines(used):
    """The names of the machines that there are results of."""
    return sorted({one.machine for one in sum(used, [])})


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
        cells = [(label(one.result), one.path)]
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
        titled("Certificates", model), note, ["run"] + [name + " " for name in RUNGS], rows
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
                "label": label(one.result),
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
    paths = {name: PLANTED / (name + suffix) for name in frameworks.ENVIRONMENTS}
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
    return Table(titled("Planted mistakes", model), note, ["mistake"] + list(environments), rows)


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
    return Table(titled("Each framework's own traps", model), note, columns, rows)


def results(committed, machine, model):
    """Accuracy, time and memory of the runs on one machine; no time without its certificate."""
    rows = []
    for one in ordered(one for one in of_model(committed, model) if one.machine == machine):
        result = one.result
        times = result.get("timings", {})
        cells = [(label(result), one.path), kind(result)]
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
    return Table(titled("Results: %s" % machine, model), CHANGED, columns, rows)


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


def original(runs):
    """The published figures of the comparison that this began with, and the same training here."""
    content = json.loads(ORIGINAL.read_text(encoding="utf-8"))
    columns, rows = list(content["columns"]), [list(row) for row in content["rows"]]
    headline = [
        one
        for one in of_model(runs, MODELS["cnn"])
        if kind(one.result) == HEADLINE and one.result["lane"] == "best"
    ]
    for machine in dict.fromkeys(one.machine for one in headline):
        columns += ["%s, seconds " % machine, "accuracy (95% interval) ", "proven"]
        mine = latest([one for one in headline if one.machine == machine])
        cells = {one.result["framework"]: _headline(one) for one in mine}
        for row in rows:
            row += cells.get(row[len(content["columns"]) - 1], ["-"] * 3)
    note = (
        "%s Source: %s. Beside it, where a run is committed, the same recipe in lane best: "
        "`tox run -e NAME -- --lane best --epochs 10`. Libraries are to be compared within a "
        "column."
    ) % (content["what"], content["source"])
    return Table("Beside the original", note, columns, rows)


def _headline(one):
    """The cells of a run of the original's length: seconds, accuracy, rungs."""
    result = one.result
    accuracy = result["accuracy"]
    shares = tuple(100 * share for share in [accuracy["value"]] + accuracy["interval"])
    rungs = result["certificate"]["rungs"]
    passed = sum(rung["passed"] for rung in rungs)
    seconds = "%.0f" % result["timings"]["train"] if passed == len(rungs) else "not proven"
    accuracy = "%.2f%% (%.2f–%.2f)" % shares
    return [(seconds, one.path), accuracy, "%d of %d rungs" % (passed, len(rungs))]


def differs():
    """What differs between that comparison and this one, as sentences."""
    return json.loads(ORIGINAL.read_text(encoding="utf-8"))["differs"]


def networks():
    """Which environment has which model, where to read it, and whether it is proven."""
    proven = {model.name: planted(model) for model in MODELS.values()}
    rows = []
    for framework in frameworks.ENVIRONMENTS.values():
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


def files():
    """Which files of its own each environment reads and writes, and where that is done."""
    rows = []
    for framework in frameworks.ENVIRONMENTS.values():
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
    return Table(titled("Exchange", model), note, columns, rows)


def diagnosed(model):
    """How well a diagnosis names mistakes that were made on purpose; None if it was not tried."""
    suffix = "-%s.json" % model.name
    rows = []
    for name in frameworks.ENVIRONMENTS:
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
            rows.append(
                _verdicts("%s, %s" % (frameworks.REFERENCE, says), found[kind_of])
                + ["-", _told(off)]
            )
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
    return Table(titled("Diagnosis", model), note, columns, rows)


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
    """What was measured on one machine: benches, profiles, and each model's table of results."""
    tables = [results(used.runs, machine, model) for model in ALL.values()]
    return timed(used, machine) + [one for one in tables if one.rows]


def timed(used, machine):
    """What was timed in turn, and where each framework's profiler says the time goes."""
    profiled = [spent(used.profiles, machine, model) for model in ALL.values()]
    return benched(used, machine) + [one for one in profiled if one.rows]


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
        + [learnt(used), original(used.runs)]
    )
