"""The tables, from the committed results and the registry; cells are plain text."""

import json

import frameworks
from common.networks import ALL, MODELS
from common.proof.contract import LANES
from common.proof.rungs import RUNGS
from common.records import records
from common.run.results import proven
from common.system import modules
from reports.bench_tables import benched
from reports.bench_tables import questions as asked
from reports.committed import HERE
from reports.lessons import learnt
from reports.profile_tables import spent
from reports.sweeps import swept
from reports.table import Table, dagger, kind, label, position, titled

ORIGINAL = HERE / "original.json"
PLANTED = HERE / "mistakes"
EXCHANGES = HERE / "exchange"
DIAGNOSED = HERE / "diagnosis"
ANSWERS = HERE / "answers"
HEADLINE = "50,000 × 10"  # the original's training
VERDICTS = ("named", "one of several", "located", "wrong", "not seen")  # of a diagnosis


def environments():
    """The environments of the repository: a row for each."""
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
    """The names of the machines with results."""
    return sorted({committed.machine for committed in sum(used, [])})


def by_date(used):
    """The names of the machines with results, the one with the newest first.

    used: a ``Used``, or lists of ``Committed``.
    """
    made = {}
    for committed in sorted(sum(used, []), key=lambda committed: committed.result["made"]):
        made[committed.machine] = committed.result["made"]
    return sorted(made, key=made.get, reverse=True)


def ordered(committed):
    """The longest runs first, and in the order of the registry."""
    return sorted(committed, key=_order)


def of_model(committed, model):
    """The runs of one model; the oldest result files do not name it, and are of the CNN."""
    return [run for run in committed if run.result.get("model", "cnn") == model.name]


def latest(committed):
    """The latest run of each framework and lane, in the order of the registry."""
    runs = {}
    for run in sorted(committed, key=lambda run: run.result["made"]):
        runs[run.result["framework"], run.result["lane"]] = run
    return sorted(runs.values(), key=lambda run: _order(run)[1:])


def certificates(committed, model):
    """Error and tolerance of each rung, for each framework's latest run."""
    rows = []
    for run in latest(of_model(committed, model)):
        rungs = {rung["rung"]: rung for rung in run.result["certificate"]["rungs"]}
        cells = [(label(run.result), run.path)]
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
        "One row for each environment and lane: its latest committed run. A cell is the error and "
        "the tolerance of the check that came closest to failing; equal: bit for bit; -: this "
        "network has no such rung. Compare an error with its own tolerance only: checks have "
        "different units."
    )
    return Table(
        titled("Certificates", model), note, ["run"] + [name + " " for name in RUNGS], rows
    )


def shares(committed, model):
    """The certificates for the page: the share of its tolerance that each check used.

    {"title", "model", "rungs", "rows"}; failed runs come first. None without a run.
    """
    runs = latest(of_model(committed, model))
    if not runs:
        return None
    asked = [name for name in RUNGS if any(_rung(run, name) for run in runs)]
    rows = []
    for run in runs:
        rungs = [_rung(run, name) for name in asked]
        rows.append(
            {
                "label": label(run.result),
                "path": run.path,
                "passed": sum(1 for rung in rungs if rung and rung["passed"]),
                "of": sum(1 for rung in rungs if rung),
                "cells": [_share(rung) for rung in rungs],
            }
        )
    rows.sort(key=lambda row: row["passed"] - row["of"])
    return {"title": model.title, "model": model.name, "rungs": asked, "rows": rows, "runs": runs}


def _rung(run, name):
    rungs = run.result["certificate"]["rungs"]
    return next((rung for rung in rungs if rung["rung"] == name), None)


def _share(rung):
    """A cell of the certificates: how much of its tolerance the worst check used."""
    cell = {"failed": False, "value": "", "text": "-", "share": None, "raw": ""}
    if rung is None:
        return cell
    error, tolerance = rung["error"], rung["tolerance"]
    cell["failed"] = not rung["passed"]
    measured = "no number" if error is None else "%.1e" % error
    cell["raw"] = "%s of %.1e, %d checks: %s" % (measured, tolerance, rung["checks"], rung["what"])
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
    """{environment: its record of planted mistakes} of a model, in the registry's order."""
    suffix = "-%s.json" % model.name
    paths = {name: PLANTED / (name + suffix) for name in frameworks.ENVIRONMENTS}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.is_file()}


def mistakes(model):
    """A row for each mistake of any framework: the rung that caught it in each environment."""
    environments = planted(model)
    rows = []
    names = dict.fromkeys(
        name for planted_in in environments.values() for name in planted_in["outside"]
    )
    for name in names:
        planted_here = [planted_in["outside"].get(name) for planted_in in environments.values()]
        caught = [pair[1] or "MISSED" if pair else "-" for pair in planted_here]
        rows.append([name.replace("_", " ")] + caught)
    note = (
        "Each mistake was planted in each environment's module. A cell is the rung that caught "
        "it; -: not planted yet."
    )
    return Table(titled("Planted mistakes", model), note, ["mistake"] + list(environments), rows)


def own_mistakes(model):
    """A row for each environment: its framework's traps, and whether any were missed."""
    environments = planted(model)
    rows = []
    for name, planted_here in environments.items():
        all_of_them = list(planted_here["outside"].values()) + list(planted_here["own"].values())
        caught = sum(1 for _, rung in all_of_them if rung)
        traps = [
            "%s (%s)" % (trap.replace("_", " "), at or "MISSED")
            for trap, (_, at) in planted_here["own"].items()
        ]
        alarms = [lane for lane, rungs in planted_here["false_alarms"].items() if rungs]
        proof = records.Proof(records.MISTAKES, name, model.name, LANES[0])
        rows.append(
            [
                name + " †" * (proof.state() == records.STALE),
                "%d of %d" % (caught, len(all_of_them)),
                ", ".join(alarms) or "none",
                ", ".join(traps) or "none yet",
            ]
        )
    note = "Mistakes that people make when they port to this framework, planted in its module."
    columns = [
        "environment",
        "caught, of all mistakes ",
        "lanes in which the untouched module failed",
    ]
    columns += ["its own traps, and the rung"]
    return Table(titled("Each framework's own traps", model), note, columns, rows)


def results(committed, machine, model):
    """Accuracy, time and memory of the runs on one machine; no time without its certificate."""
    rows = []
    for run in ordered(run for run in of_model(committed, model) if run.machine == machine):
        result = run.result
        times = result.get("timings", {})
        cells = [(label(result), run.path), kind(result)]
        if "accuracy" in result:
            cells.append(_accuracy(result))
        elif "held_out_loss" in result:
            cells.append("%.4f" % result["held_out_loss"]["value"])
        elif "joint_error" in result:
            error = result["joint_error"]
            cells.append("%.4f (%.4f)" % (error["value"], error["of_the_mean_pose"]))
        else:
            error = result["rms_error"]
            cells.append("%.4f (%.4f)" % (error["one_step_ahead"], error["free_running"]))
        if proven(result):
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
        "held_out_loss": "held-out loss ",
    }[model.task.figure]
    noun = model.task.observations
    columns = ["run", "%s × epochs" % noun, figure, "training ", "first step "]
    columns += ["step, median (quartiles) ", "%s/s " % noun, "of matrix product ", "peak memory "]
    return Table(titled("Results: %s" % machine, model), "", columns, rows)


def original(runs):
    """The figures of the original comparison, beside the same training here."""
    content = json.loads(ORIGINAL.read_text(encoding="utf-8"))
    columns, rows = list(content["columns"]), [list(row) for row in content["rows"]]
    headline = [
        run
        for run in of_model(runs, MODELS["cnn"])
        if kind(run.result) == HEADLINE and run.result["lane"] == "best"
    ]
    for machine in dict.fromkeys(run.machine for run in headline):
        columns += ["%s, seconds " % machine, "accuracy (95% interval) ", "proven"]
        mine = latest([run for run in headline if run.machine == machine])
        cells = {run.result["framework"]: _headline(run) for run in mine}
        for row in rows:
            row += cells.get(row[len(content["columns"]) - 1], ["-"] * 3)
    note = (
        "%s Source: %s. The columns on the right have the same recipe in lane best, where a run is "
        "committed: `tox run -e NAME -- --lane best --epochs 10`. Compare libraries within a "
        "column only."
    ) % (content["what"], content["source"])
    return Table("Beside the original", note, columns, rows)


def _headline(run):
    """The cells of a run of the original's length: seconds, accuracy, rungs."""
    result = run.result
    rungs = result["certificate"]["rungs"]
    passed = sum(rung["passed"] for rung in rungs)
    shown = passed == len(rungs) and proven(result)
    seconds = "%.0f" % result["timings"]["train"] if shown else "not proven"
    of = "%d of %d rungs" % (passed, len(rungs))
    return [(seconds + dagger(result), run.path), _accuracy(result), of]


def _accuracy(result):
    """A run's accuracy and its interval, in percent."""
    shares = [result["accuracy"]["value"]] + result["accuracy"]["interval"]
    return "%.2f%% (%.2f–%.2f)" % tuple(100 * share for share in shares)


def differs():
    """How this comparison differs from the original one, as sentences."""
    return json.loads(ORIGINAL.read_text(encoding="utf-8"))["differs"]


def networks():
    """The models of each environment: where to read each, and the lanes proven on record."""
    rows = []
    for framework in frameworks.ENVIRONMENTS.values():
        cells = [framework.name]
        for model in MODELS:
            path = frameworks.path(framework, model)
            if not modules.has(framework.name, model):
                cells.append("-")
                continue
            passed = list(filter(None, (_proven(framework.name, model, lane) for lane in LANES)))
            cells.append(("proven: %s" % " and ".join(passed) if passed else "no record", path))
        rows.append(cells)
    note = (
        "The values of `--model` in each environment. proven: the lanes with a certificate on "
        "record that passed every rung; no record: the module is here, but no such certificate; "
        "-: there is no such module."
    )
    columns = ["environment"] + [model.title for model in MODELS.values()]
    return Table("Networks", note, columns, rows)


def _proven(name, model, lane):
    """The lane, marked if its record is stale; None without a record that passed every rung."""
    proof = records.Proof(records.CERTIFICATE, name, model, lane)
    record = proof.read()
    if record is None or not all(rung["passed"] for rung in record["rungs"]):
        return None
    return lane + "†" * (proof.state() == records.STALE)


def on_gpus():
    """The certificates that were made on a GPU."""
    rows = []
    for path in sorted((HERE / "gpu" / "proofs").glob("*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        passed = sum(rung["passed"] for rung in record["rungs"])
        rungs = "%d of %d" % (passed, len(record["rungs"]))
        versions = record["versions"]
        cells = [(record["framework"], str(path.relative_to(HERE.parent))), record["model"]]
        rows.append(cells + [record["lane"], record["machine"], versions["framework"], rungs])
    columns = ["environment", "network", "lane", "machine", "version", "rungs passed"]
    return Table("Certificates on a GPU", "", columns, rows)


def proofs(committed):
    """Tables of certificates and of planted mistakes."""
    tables = [certificates(committed, model) for model in ALL.values()] + [on_gpus()]
    for model in MODELS.values():
        if planted(model):
            tables += [mistakes(model), own_mistakes(model)]
    return [table for table in tables if table.rows]


def files():
    """Each environment's own weight files, and the code that reads and writes them."""
    rows = []
    for framework in frameworks.ENVIRONMENTS.values():
        path = frameworks.path(framework, "native")
        if modules.has(framework.name, "native") and not framework.gpu:
            rows.append([framework.name, " ".join(framework.endings), (path, path)])
    return Table("Own files", "", ["environment", "own files", "read"], rows)


def exchanged(model):
    """The result of carrying weights from each framework to each; None if it was not done."""
    path = EXCHANGES / (model.name + ".json")
    if not path.is_file():
        return None
    record = json.loads(path.read_text())
    names = list(record["frameworks"])
    rows = []
    for taker, row in record["takers"].items():
        cells = []
        for giver in names:
            if giver not in row:
                cells.append("-")
                continue
            off = not row[giver]["error"] <= record["frameworks"][giver]["tolerance"]  # or NaN
            cells.append("%s%.1e" % ("OFF " if off else "", row[giver]["largest_difference"]))
        own = record["frameworks"].get(taker, {"files": [".onnx"]})["files"]
        rows.append([taker, ", ".join(own)] + cells)
    note = (
        "Each framework trained for {} steps and saved its weights in its own files. Another "
        "process read them again, bit for bit. Then each other framework loaded the weights and "
        "predicted {:,} {}. The framework of a row loaded the weights of the framework of a "
        "column; a cell is the largest difference between the {} of the two. All are within the "
        "proof's tolerance of the float64 reference, unless marked OFF. -: no ONNX file here."
    ).format(record["steps"], record["observations"], model.task.observations, model.task.outputs)
    columns = ["weights loaded by", "own files"] + [name + " " for name in names]
    return Table(titled("Exchange", model), note, columns, rows)


def diagnosed(model):
    """How well the diagnosis names planted mistakes; None if it was not tried."""
    suffix = "-%s.json" % model.name
    rows = []
    for name in frameworks.ENVIRONMENTS:
        path = DIAGNOSED / (name + suffix)
        if not path.is_file():
            continue
        record = json.loads(path.read_text())
        off = [
            "%s (%s)" % (mistake.replace("_", " "), mistake_made["verdict"])
            for mistake, mistake_made in record["mistakes"].items()
            if mistake_made["verdict"] != "named"
        ]
        rows.append(
            _verdicts(name, record["singles"]) + [_as_certified(name + suffix), _joined(off)]
        )
    path = DIAGNOSED / (model.name + ".json")
    if path.is_file():
        record = json.loads(path.read_text())
        for kind_of, says in (("singles", "the causes it knows"), ("pairs", "pairs of these")):
            off = [
                "%s (%s)" % (" and ".join(mistake_made["made"]), mistake_made["verdict"])
                for mistake_made in record[kind_of]["not_named"]
            ]
            rows.append(
                _verdicts("%s, %s" % (frameworks.REFERENCE, says), record[kind_of])
                + ["-", _joined(off)]
            )
    if not rows:
        return None
    note = (
        "Known mistakes were planted in the modules, each module answered a challenge, and the "
        "answers were checked. Named: the check named the cause and nothing else. One of several: "
        "it also named causes that give the same numbers. Located: it named the rung or the stage, "
        "but no cause. Not seen: the answer passed. Mistakes that only a later step, a second "
        "model or a second run could show are left out. Judged as certified: the number of rungs "
        "on which the check judges the untouched module's answer as its certificate does."
    )
    columns = ["environment"] + [verdict + " " for verdict in VERDICTS]
    columns += ["judged as certified", "not named"]
    return Table(titled("Diagnosis", model), note, columns, rows)


def _verdicts(name, counts):
    return [name] + [str(counts.get(verdict, 0)) for verdict in VERDICTS]


def _joined(off):
    return "; ".join(off) or "-"


def _as_certified(file):
    """Of an untouched module's answer: how many rungs were judged as its certificate judges."""
    path = ANSWERS / file
    if not path.is_file():
        return "-"
    rungs = json.loads(path.read_text())["rungs"].values()
    return "%d of %d rungs" % (sum(1 for ours, other in rungs if ours == other), len(rungs))


def measured(used, machine):
    """One machine's tables of benches, of profiles, and of each model's results."""
    tables = [results(used.runs, machine, model) for model in ALL.values()]
    return timed(used, machine) + [table for table in tables if table.rows]


def timed(used, machine):
    """One machine's tables of benches and of profiles."""
    return benched(used, machine) + profiled(used, machine)


def questions(used, machine):
    """One machine's tables that answer a question: of benches, sweeps and profiles."""
    return asked(used, machine) + swept(used, machine) + profiled(used, machine)


def profiled(used, machine):
    """Where each framework's profiler says a step's time goes, a table for each network."""
    made = [spent(used.profiles, machine, model) for model in ALL.values()]
    return [table for table in made if table.rows]


def every(used):
    """All tables, in the order in which they are read."""
    made = [table for machine in machines(used) for table in measured(used, machine)]
    further = [make(model) for make in (diagnosed, exchanged) for model in MODELS.values()]
    further = [table for table in further if table]
    first, last = [environments(), networks()], [learnt(used), original(used.runs)]
    return first + proofs(used.runs) + further + made + last
