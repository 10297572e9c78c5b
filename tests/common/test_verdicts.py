"""The exit codes on which all gates rest: what fails is not called passed, and not recorded."""

import json
import runpy
import sys
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from common import networks
from common.data import shakespeare
from common.exchange import exchange
from common.mistakes import planted
from common.networks.hyperparameters import without_dropout
from common.networks.model import CLASSES, JOINTS, TOKENS, VALUES
from common.proof import certificate, updates
from common.records import prove, records
from common.records.records import CERTIFICATE, MISTAKES, Proof
from common.run import clocks, measures, runner
from common.system import commands, modules
from tests import some

NAME = some.without("mlp")


@pytest.mark.parametrize("passed, code", [(True, 0), (False, certificate.FAILED)])
def test_a_certificate_that_fails_fails_the_command(passed, code, tmp_path, monkeypatch):
    monkeypatch.setattr(certificate, "make", lambda *_: {"passed": passed})
    monkeypatch.setattr(certificate.machine, "restart_with", lambda *_: None)
    monkeypatch.setattr(certificate.machine, "limit_threads", lambda _: None)
    out = tmp_path / "certificate.json"
    assert certificate.command(["numpy", "--model", "mlp", "--out", str(out)]) == code
    assert json.loads(out.read_text())["passed"] == passed


@pytest.mark.parametrize(
    "rung, alarm, code", [("gradient", 0, 0), ("forward", 0, 1), (None, 0, 1), ("gradient", 1, 1)]
)
def test_a_missed_mistake_or_a_false_alarm_fails_the_command(
    rung, alarm, code, tmp_path, monkeypatch
):
    def untouched(command, log):
        with open(command[command.index("--out") + 1], "w") as file:
            json.dump({"rungs": [{"rung": "data", "passed": not alarm}]}, file)
        return certificate.FAILED if alarm else 0

    out = tmp_path / "mistakes.json"
    monkeypatch.setattr(planted, "plant", lambda *_: OrderedDict(any=("gradient", rung)))
    monkeypatch.setattr(planted, "own", lambda *_: [])
    monkeypatch.setattr(commands, "call", untouched)
    monkeypatch.setattr("common.system.machine.limit_threads", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["", "numpy", "--model", "mlp", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("common.mistakes", run_name="__main__")
    assert ended.value.code == code
    result = json.loads(out.read_text())
    assert result["false_alarms"] == dict.fromkeys(("same", "best"), ["data"] if alarm else [])


@pytest.mark.parametrize("code", [0, 1, certificate.FAILED])
def test_only_a_proof_that_passed_is_recorded(code, tmp_path, monkeypatch):
    def call(command, log):
        with open(command[-1], "w") as file:
            json.dump({"rungs": [], "settings": {"device": "cpu"}}, file)
        return code

    proof = Proof(CERTIFICATE, NAME, "cnn", "best")
    monkeypatch.setattr(records.files, "ROOT", str(tmp_path))
    monkeypatch.setattr(Proof, "rests_on", lambda proof: {"own": "1", "shared": "2"})
    monkeypatch.setattr(Proof, "command", lambda proof, threads, out: [out])
    monkeypatch.setattr(prove.environments, "inside", lambda name, *arguments: list(arguments))
    monkeypatch.setattr(prove.commands, "call", call)
    assert prove.make(proof) == (code == 0)
    assert (proof.read() is not None) == (code == 0)


def test_a_record_is_of_the_lane_and_the_device_that_were_proven():
    proof = Proof(CERTIFICATE, NAME, "cnn", "best")
    assert proof.command(1, "x")[:3] == ["-m", "common.proof", NAME]
    assert proof.command(1, "x")[-2:] == ["--lane", "best"]
    assert Proof(MISTAKES, NAME, "cnn", "same").command(1, "x")[1] == "common.mistakes"
    assert proof.made_on("cpu") == proof.path != proof.made_on("cuda")


@pytest.mark.parametrize("passed, code", [(True, 0), (False, exchange.FAILED)])
def test_an_exchange_that_fails_fails_the_command(passed, code, monkeypatch):
    monkeypatch.setattr(exchange.environments, "make", lambda names: None)
    monkeypatch.setattr(exchange, "carry", lambda folder, request: (request, {}))
    monkeypatch.setattr(exchange, "result", lambda *_: {"passed": passed})
    monkeypatch.setattr(exchange, "summary", lambda result: [])
    names = ["numpy", some.environment(gpu_of="")]
    assert exchange.command(names + ["--model", "cnn"]) == code


def evaluated(value):
    """A module whose ``evaluate`` is off by a factor."""
    return SimpleNamespace(evaluate=lambda outputs, targets: value)


def test_values_are_measured_one_step_ahead_and_running_free():
    targets = np.zeros((2, 4, 1))
    values = targets + np.array([1, 1, 3, 3]).reshape(1, 4, 1)
    ahead_and_free = iter([1.0, 3.0])
    module = SimpleNamespace(evaluate=lambda *_: next(ahead_and_free))
    error = measures.measure(module, VALUES, values, targets)["rms_error"]
    assert (error["one_step_ahead"], error["free_running"], error["n"]) == (1.0, 3.0, 2)
    with pytest.raises(clocks.Stop, match="but the error is 1.0"):
        measures.measure(evaluated(1.1), VALUES, values, targets)


def test_joints_count_where_they_are_visible():
    targets = np.array([[[0, 0, 1], [5, 5, 0]], [[0, 0, 1], [0, 4, 1]]], float)
    joints = np.array([[[3, 4], [9, 9]], [[0, 0], [0, 0]]], float)
    error = measures.measure(evaluated(3.0), JOINTS, joints, targets)["joint_error"]
    assert (error["value"], error["n"]) == (3.0, 2)  # the distances are 5, 0 and 4
    with pytest.raises(clocks.Stop, match="but the error is 3.0"):
        measures.measure(evaluated(2.0), JOINTS, joints, targets)


def test_ignored_tokens_do_not_count_in_a_held_out_loss():
    targets = np.array([[0, shakespeare.IGNORED]])
    scores = np.zeros((1, 2, 4))
    scores[0, 1] = [9, 0, 0, 0]
    loss = measures.measure(evaluated(np.log(4)), TOKENS, scores, targets)["held_out_loss"]
    assert loss == {"value": pytest.approx(np.log(4)), "n": 1}


def test_a_wrong_evaluation_or_a_missing_row_stops_the_run():
    scores, labels = np.eye(4), np.arange(4)
    assert measures.measure(evaluated(1.0), CLASSES, scores, labels)["accuracy"]["n"] == 4
    with pytest.raises(clocks.Stop, match="but 4 of 4 are right"):
        measures.measure(evaluated(0.75), CLASSES, scores, labels)
    with pytest.raises(clocks.Stop, match="3 rows"):
        measures.measure(evaluated(1.0), CLASSES, scores[:3], labels)


@pytest.mark.parametrize("factor, passed", [(1, True), (2, False), (float("nan"), False)])
def test_updates_after_a_run_are_checked(factor, passed):
    model = networks.find("cnn")
    hp = without_dropout(model.hp)._replace(batch_size=8)
    module = modules.load("numpy", "cnn")
    settings = module.configure("same", 1, 0)
    actual = hp._replace(learning_rate=factor * hp.learning_rate)
    symbol = module.symbol(settings, actual)
    trained = module.loss(symbol, settings, actual, model.initialize(model.shapes, 0))
    result = updates.after_run(model, module, settings, hp, trained, 20)
    assert result["passed"] == passed and result["steps"] == 20
    assert bool(result["detail"]) != passed
    assert (result["share_of_tolerance"] <= 1) == passed and result["share_of_tolerance"] < np.inf


def test_a_run_has_the_environment_of_its_lane(monkeypatch):
    class Restarted(Exception):
        pass

    def restart_with(environ, module, arguments):
        raise Restarted(environ, module)

    monkeypatch.setattr(runner.machine, "restart_with", restart_with)
    with pytest.raises(Restarted) as stopped:
        runner.main(["numpy", "--lane", "best"])
    assert stopped.value.args == (modules.environ("numpy", "best"), "common.run")
