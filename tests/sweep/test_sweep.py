"""Sweeps: tasks on Ray, what is kept, what happens when a worker or the command is stopped."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import jsonschema
import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

import frameworks
from common.sweep import engine, sweep, tasks
from common.sweep.tasks import Task
from common.system import commands
from common.system.errors import InputError
from common.system.files import ROOT
from tests import some
from tests.common.test_signals import heed_signals
from tests.sweep.conftest import RESULT

A, B = frameworks.REFERENCE, some.PLAIN
PAIR = ["%s:same" % A, "%s:same" % B]
SHORT = ["--model", "mlp", "--data", "synthetic", "--train-images", "100", "--epochs", "1"]
PATIENCE = 90  # seconds; Ray alone takes ten on two cores


def until(true, what):
    """Wait for something that happens in other processes."""
    limit = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < limit, what
        time.sleep(0.2)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def here():
    engine.connect()
    yield
    ray.shutdown()


def task(seed=0):
    return Task((A, seed), A, ["--seed", str(seed), "--out"])


def collected(tasks):
    """(the outcomes so far, the thread that collects them) of tasks that run meanwhile."""
    landed = []
    outcomes = engine.run(tasks, engine.share())
    collect = threading.Thread(target=lambda: landed.extend(outcomes))
    collect.start()
    return landed, collect


def test_a_task_brings_its_result(stub, here):
    outcomes = list(engine.run([task(0), task(2)], engine.share()))
    assert {outcome.key: outcome.result["accuracy"]["value"] for outcome in outcomes} == {
        (A, 0): 0.7,
        (A, 2): pytest.approx(0.72),
    }


def test_a_training_that_fails_is_not_repeated(stub, here):
    stub.file("fail").touch()
    (outcome,) = engine.run([task()], engine.share())
    assert outcome.result is None and outcome.error == "error: it cannot be trained"
    assert len(stub.started()) == 1


def test_a_task_whose_worker_is_killed_is_repeated(stub, here):
    stub.file("slow").touch()
    landed, collect = collected([task()])
    until(stub.started, "no training started")
    ((_, _, training, worker),) = stub.started()
    os.kill(worker, signal.SIGKILL)
    until(lambda: len(stub.started()) > 1, "the training did not start again")
    until(lambda: not alive(training), "the dead worker's training goes on")
    stub.file("slow").unlink()
    collect.join(PATIENCE)
    (outcome,) = landed
    assert outcome.error is None and outcome.result["accuracy"]["value"] == 0.7


def test_a_task_of_a_node_that_dies_runs_on_another(stub):
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        node = cluster.add_node(num_cpus=1)
        engine.connect(cluster.address)
        stub.file("slow").touch()
        landed, collect = collected([task(0), task(1)])
        until(lambda: len(stub.started()) == 2, "both nodes should train")
        cluster.remove_node(node, allow_graceful=False)
        stub.file("slow").unlink()
        collect.join(PATIENCE)
        assert sorted(outcome.key for outcome in landed) == [(A, 0), (A, 1)]
        assert all(outcome.error is None for outcome in landed)
    finally:
        ray.shutdown()
        cluster.shutdown()


def trained(waiting):
    """The exit code of a guarded command that runs these tasks."""
    with commands.handlers_kept():
        heed_signals()
        return commands.guarded(lambda _: 0 * len(list(engine.run(waiting, engine.share()))), [])


def interrupt(stub):
    """Ctrl-C, as soon as a training runs."""
    until(stub.started, "no training started")
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_while_tasks_are_handed_over_ends_those_that_run(stub, here):
    stub.file("slow").touch()

    def waiting():
        yield task(0)
        interrupt(stub)

    assert trained(waiting()) == 130
    ((_, _, training, _),) = stub.started()
    until(lambda: not alive(training), "the training goes on")


def test_ctrl_c_that_a_library_swallows_ends_the_trainings(stub, here, monkeypatch):
    stub.file("slow").touch()
    wait, calls = ray.wait, []

    def swallows(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 1:
            with suppress(KeyboardInterrupt):
                interrupt(stub)
        return wait(*arguments, **options)

    monkeypatch.setattr(ray, "wait", swallows)
    assert trained([task(0), task(1)]) == 130
    ((_, _, training, _),) = stub.started()
    assert not alive(training)


def test_a_task_that_ends_when_it_is_cancelled_is_not_killed(monkeypatch):
    """Ray aborts the whole process if the result of a killed task arrives."""
    cancelled = []
    monkeypatch.setattr(ray, "cancel", lambda task, force=False: cancelled.append((task, force)))
    monkeypatch.setattr(ray, "wait", lambda tasks, **_: (tasks[:1], tasks[1:]))
    engine.stop(["a", "b"])
    assert cancelled == [("b", False), ("a", False), ("b", True)]


def test_sigterm_while_ray_starts_stops_the_command(monkeypatch, capsys):
    """Ray has set its own handler by then."""

    def start(**options):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(ray, "init", start)
    with commands.handlers_kept():
        assert commands.guarded(lambda _: engine.connect(), []) == 143
    assert capsys.readouterr().err == "error: stopped by SIGTERM\n"


def sweeping(path, *arguments, names=PAIR):
    """The command line of a sweep."""
    return [*names, *SHORT, "--seeds", "2", "--out", str(path), *arguments]


def read(path):
    with open(path) as file:
        return json.load(file)


def test_a_sweep_ends_with_a_judgement_and_more_seeds_go_into_the_same_file(stub, tmp_path, capsys):
    path = tmp_path / "sweep.json"
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    result = read(path)
    assert result["status"] == "finished"
    assert [list(result["measured"][name]) for name in PAIR] == [["0", "1"]] * 2
    (pair,) = result["pairs"]
    assert pair["verdict"] == "equivalent" and pair["mean"] == 0
    with open(os.path.join(ROOT, "reports", "sweeps.schema.json")) as file:
        jsonschema.validate(result, json.load(file))
    assert "equivalent" in capsys.readouterr().out
    assert commands.guarded(sweep.command, sweeping(path, "--seeds", "3")) == 0
    assert len(stub.started()) == 2 * 3
    assert [len(read(path)["measured"][name]) for name in PAIR] == [3, 3]


@pytest.mark.parametrize(
    "number, code, words",
    [(signal.SIGINT, 130, "stopped by Ctrl-C"), (signal.SIGTERM, 143, "stopped by SIGTERM")],
)
def test_a_sweep_that_is_stopped_leaves_no_training_and_continues(
    stub, tmp_path, number, code, words
):
    path = tmp_path / "sweep.json"
    stub.file("slow").touch()
    command = [sys.executable, "-m", "common.sweep", *sweeping(path)]
    child = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_signals,
    )
    until(stub.started, "no training started")
    os.killpg(child.pid, number)
    _, said = child.communicate(timeout=PATIENCE)
    assert child.returncode == code
    (line,) = said.strip().splitlines()
    assert words + "; 4 trainings are left" in line
    until(lambda: not any(alive(pid) for _, _, pid, _ in stub.started()), "a training goes on")
    assert read(path)["status"] == "unfinished"
    before = len(stub.started())
    stub.file("slow").unlink()
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    assert len(stub.started()) == before + 4 and read(path)["status"] == "finished"


def test_what_fails_is_named_and_the_rest_is_kept(stub, tmp_path, capsys):
    stub.file("fail").touch()
    path = tmp_path / "sweep.json"
    assert commands.guarded(sweep.command, sweeping(path)) == 1
    assert "seed 0" in capsys.readouterr().out and read(path)["status"] == "unfinished"
    stub.file("fail").unlink()
    assert commands.guarded(sweep.command, sweeping(path)) == 0


def test_a_training_that_is_not_proven_names_the_rung(stub, tmp_path, capsys):
    """It writes its result, and ends with exit code 1 and the path of that file."""
    path = tmp_path / "sweep.json"
    result = json.loads(stub.file("result.json").read_text())
    rung = {"rung": "gradient", "passed": False, "what": "conv1.weight", "detail": ""}
    wrong = dict(result, certificate=dict(result["certificate"], rungs=[rung]))
    stub.file("result.json").write_text(json.dumps(wrong))
    assert commands.guarded(sweep.command, sweeping(path)) == 1
    assert "failed: not proven: rung gradient, conv1.weight" in capsys.readouterr().out
    late = {"passed": False, "share_of_tolerance": 0.2, "detail": "images near a kink"}
    stub.file("result.json").write_text(json.dumps(dict(result, late_updates=late)))
    assert commands.guarded(sweep.command, sweeping(path)) == 0  # nothing wrong was seen


def test_a_training_whose_last_update_is_not_finite_does_not_count():
    late = {"passed": False, "share_of_tolerance": float(np.finfo(np.float32).max), "detail": "w"}
    assert tasks.unproven({"late_updates": late}) == "not proven at its end: w"


def test_two_sweeps_do_not_write_one_file(stub, tmp_path, capsys):
    path = tmp_path / "sweep.json"
    with tasks.alone(str(path)):
        assert commands.guarded(sweep.command, sweeping(path)) == 2
    assert capsys.readouterr().err == "error: %s: another process writes it\n" % path
    assert not path.exists()


@pytest.mark.parametrize("cpus", [(2, 16), (0, 0)])
def test_machines_of_other_sizes_are_refused(cpus, monkeypatch):
    nodes = [{"Alive": True, "Resources": {"CPU": count}} for count in cpus]
    monkeypatch.setattr(engine.ray, "nodes", lambda: nodes)
    with pytest.raises(InputError, match="ray start --num-cpus 1"):
        engine.share()


@pytest.mark.parametrize(
    "other, words",
    [
        ({"dataset": dict(RESULT["dataset"], sha256="3" * 64)}, "it had other data"),
        ({"source_sha256": "3" * 64}, "its machine has another version of the module"),
    ],
)
def test_trainings_that_cannot_be_compared_are_not_mixed(stub, tmp_path, capsys, other, words):
    """As from a machine with another copy of the data, or at another commit."""
    path = tmp_path / "sweep.json"
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    result = json.loads(stub.file("result.json").read_text())
    stub.file("result.json").write_text(json.dumps(dict(result, **other)))
    assert commands.guarded(sweep.command, sweeping(path, "--seeds", "3")) == 1
    assert words in capsys.readouterr().out
    assert [len(read(path)["measured"][name]) for name in PAIR] == [2, 2]


def test_only_a_contender_whose_code_has_changed_is_trained_again(
    stub, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "sweep.json"
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    rests_on = sweep.rests_on

    def changed(contender, model):
        return rests_on(contender, model) + "another" * (contender == PAIR[1])

    monkeypatch.setattr(sweep, "rests_on", changed)
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    again = stub.started()[4:]
    assert [name for name, *_ in again] == [B, B]
    assert "%s: its code or pins have changed" % PAIR[1] in capsys.readouterr().out


def test_code_that_changes_during_a_sweep_is_not_filed_under_the_old(
    stub, tmp_path, monkeypatch, capsys
):
    path, rests_on = tmp_path / "sweep.json", sweep.rests_on
    monkeypatch.setattr(
        sweep, "rests_on", lambda *about: rests_on(*about) + "another" * bool(stub.started())
    )
    assert commands.guarded(sweep.command, sweeping(path)) == 1
    assert "its code or pins have changed since the sweep began" in capsys.readouterr().out
    assert not any(read(path)["measured"].values())


def test_bad_input_does_not_cost_the_trainings_of_code_that_has_changed(
    stub, tmp_path, monkeypatch
):
    path, rests_on = tmp_path / "sweep.json", sweep.rests_on
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    before = path.read_text()
    monkeypatch.setattr(sweep, "rests_on", lambda *about: rests_on(*about) + "another")
    assert commands.guarded(sweep.command, sweeping(path, "--address", "127.0.0.1:1")) == 2
    assert path.read_text() == before


def test_on_a_cluster_a_training_takes_the_cores_of_its_machine():
    def arguments(*more):
        return tasks.recipe(sweep.parse([*PAIR, *SHORT, "--address", "host:1", *more]), 0)

    assert "--threads" not in arguments()
    assert "999" in arguments("--threads", "999")


def test_a_contender_that_has_changed_is_judged_only_after_new_trainings(
    stub, tmp_path, monkeypatch, capsys
):
    """Nobody asked for it now, so its trainings stay in the file."""
    path, third = tmp_path / "sweep.json", "%s:best" % B
    assert commands.guarded(sweep.command, sweeping(path, names=[*PAIR, third])) == 0
    assert len(read(path)["pairs"]) == 3
    rests_on = sweep.rests_on
    changed = "another".__mul__
    monkeypatch.setattr(
        sweep, "rests_on", lambda c, model: rests_on(c, model) + changed(c == third)
    )
    assert commands.guarded(sweep.command, sweeping(path)) == 0
    assert len(stub.started()) == 3 * 2 and len(read(path)["measured"][third]) == 2
    ((first, second),) = [(pair["first"], pair["second"]) for pair in read(path)["pairs"]]
    assert [first, second] == PAIR
    assert "not judged %s: its code or pins have changed" % third in capsys.readouterr().out
    assert commands.guarded(sweep.command, sweeping(path, names=[*PAIR, third])) == 0
    assert len(stub.started()) == 4 * 2 and len(read(path)["pairs"]) == 3


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([A, A], "named twice"),
        ([A + ":fast"], "the lanes are"),
        ([A, some.PLAIN + ":plain"], "nothing proves a plain script"),
        ([A + "/2x1"], "a sweep takes NAME or NAME:LANE"),
        ([A, B, "--seeds", "1"], "2 or more"),
        ([A, B, "--threads", "999"], "--threads 999: this machine has"),
        ([A, B, "--data", "/no/such"], "/no/such"),
        ([A, B, "--train-images", "3"], "fewer than one batch"),
        ([A, B, "--margin", "0"], "not a number of points"),
        (["nothing"], "nothing"),
        ([A], "a sweep needs at least two contenders"),
        ([A, B, "--address", "127.0.0.1:1"], "no Ray cluster answers"),
    ],
)
def test_bad_input_is_one_line(stub, tmp_path, capsys, arguments, words):
    out = [] if "--address" not in arguments else ["--out", str(tmp_path / "out.json")]
    assert commands.guarded(sweep.command, SHORT + out + arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert words in line and not stub.started()


def test_a_file_of_another_recipe_is_left_alone(stub, tmp_path, capsys):
    path = tmp_path / "mine.json"
    path.write_text('{"schema": 7}')
    assert commands.guarded(sweep.command, sweeping(path)) == 2
    assert "name another file with --out" in capsys.readouterr().err
    assert path.read_text() == '{"schema": 7}'
