"""What the project's own commands cost."""

import contextlib
import json
import os

import numpy as np
import pytest

from common.costs import costs
from common.system import commands


def test_a_command_is_measured():
    """A second's sleep, and 200 MB."""
    work = "import time; x = bytearray(200 * 10**6); time.sleep(1)"
    figures = costs.measured(["-c", work], os.environ)
    assert 1 <= figures["seconds"] < 20 and figures["cpu_seconds"] < figures["seconds"]
    assert 200 <= figures["megabytes"] < 400 and figures["exit_code"] == 0


def test_a_verdict_is_measured_and_a_command_that_fails_is_named():
    assert costs.measured(["-c", "raise SystemExit(3)"], os.environ, 3)["exit_code"] == 3
    for code, expected, says in (
        ("raise SystemExit(3)", 0, "exit code 3, not 0: "),  # a proof that fails, a wrong answer
        ("", 3, "exit code 0, not 3: "),  # a wrong port that passes
        ("raise SystemError(5)", 0, "exit code 1, not 0: SystemError: 5"),
        ("import sys; print('error: no'); sys.exit(2)", 0, "exit code 2, not 0: error: no"),
    ):
        assert costs.measured(["-c", code], os.environ, expected) == {"error": says}
    wrong = [cost.what for cost in costs.costs("", 1) if cost.expected]
    assert len(wrong) == 1 and wrong[0].endswith("a wrong one")


def test_the_recordings_have_the_size_and_the_mistake(tmp_path):
    paths = [str(tmp_path / name) for name in ("a.npz", "right.npz", "wrong.npz")]
    costs.recordings(*paths, megabytes=7)
    a, right, wrong = map(np.load, paths)
    assert len(a.files) == costs.LAYERS
    assert sum(a[name].nbytes for name in a.files) == pytest.approx(7e6, rel=0.01)
    for name in (a.files[0], a.files[-1]):
        np.testing.assert_allclose(right[name], a[name], rtol=2e-7)
    assert np.array_equal(wrong[a.files[0]], right[a.files[0]])
    assert not np.allclose(wrong[a.files[-1]], a[a.files[-1]], rtol=1e-3)


def test_the_command_writes_a_table(monkeypatch, tmp_path, capsys):
    made = []
    table = [
        costs.Cost("quick", ["-c", ""], lambda: made.append("quick")),
        costs.Cost("broken", ["-c", "raise SystemExit(4)"]),
        costs.Cost("unprepared", ["-c", ""], lambda: open(str(tmp_path / "no" / "folder"))),
    ]
    monkeypatch.setattr(costs, "costs", lambda folder, megabytes: table)
    monkeypatch.setattr(costs, "alone", contextlib.suppress)  # a bench may run here
    out = tmp_path / "costs.json"
    assert commands.guarded(costs.command, ["--out", str(out)]) == 1
    assert made == ["quick"]
    printed = capsys.readouterr().out
    assert "MB" in printed and "exit code 4" in printed and "could not be made" in printed
    with open(str(out)) as file:
        result = json.load(file)
    assert list(result["measured"]) == ["quick", "broken", "unprepared"] and "machine" in result
    table.append(costs.Cost("another", ["-c", ""]))
    assert commands.guarded(costs.command, ["--out", str(out)]) == 1
    with open(str(out)) as file:
        assert json.load(file) == result  # a failure does not replace a result
