"""The bench: ratios that know their spread, contenders in turn, bad input in one line."""

import functools
import json

import numpy as np
import pytest

from common.bench import bench, compare
from common.host import commands


def drifting(factor, rounds, noise, seed):
    """Seconds per step on a machine that grows slower and quicker again."""
    random = np.random.RandomState(seed)
    drift = 1 + 0.5 * np.sin(np.arange(rounds) / 3.0)
    return factor * drift * (1 + noise * random.normal(size=rounds))


def test_a_ratio_is_not_moved_by_what_slows_down_both():
    baseline, other = drifting(1, 30, 0.01, 1), drifting(0.5, 30, 0.01, 2)
    value, (low, high) = compare.ratio([other], [baseline])
    assert 1.96 < low < 2 < high < 2.04 and low < value < high
    assert compare.precision([other], [baseline]) < 0.02
    assert compare.verdict([low, high]) == "faster"


def test_equal_ones_show_no_difference_in_nearly_all_benches():
    shown = 0
    for seed in range(40):
        pair = [drifting(1, 20, 0.02, 2 * seed)], [drifting(1, 20, 0.02, 2 * seed + 1)]
        shown += compare.verdict(compare.ratio(*pair)[1]) != "no difference shown"
    assert shown <= 6  # 2 are expected


def test_runs_that_differ_widen_the_interval():
    baseline = [drifting(1, 20, 0.001, seed) for seed in range(3)]
    alike = [drifting(1, 20, 0.001, 10 + seed) for seed in range(3)]
    apart = [factor * times for factor, times in zip((0.9, 1.0, 1.1), alike)]
    assert compare.precision(alike, baseline) < 0.002 < 0.05 < compare.precision(apart, baseline)
    assert compare.between_runs(apart) == pytest.approx(1.1 / 0.9 - 1, rel=0.01)


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["nothing"], "unknown framework 'nothing'"),
        (["numpy:fast"], "numpy:fast: the lanes are same and best"),
        (["theano", "--model", "resnet"], "theano has no model 'resnet'"),
        (["numpy:same", "--baseline", "numpy:best"], "--baseline numpy:best is not among"),
        (["numpy", "--precision", "2"], "'2' is not a share between 0 and 1"),
        (["numpy", "--runs", "0"], "'0' is not a whole number"),
    ],
)
def test_bad_input_is_one_line(arguments, line, capsys):
    assert commands.guarded(bench.command, arguments) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def test_two_lanes_are_timed_in_turn(tmp_path, monkeypatch, capsys):
    """In this interpreter, where a user's bench takes the environment of each."""
    monkeypatch.setattr(bench, "start", functools.partial(bench.start, python=()))
    monkeypatch.setenv("PYTHONPATH", bench.ROOT)
    monkeypatch.setattr(bench, "LEAST", 2)
    out = tmp_path / "bench.json"
    arguments = ["numpy", "--model", "lstm", "--seconds", "1", "--precision", "0.9", "--runs", "2"]
    assert bench.command(arguments + ["--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["baseline"] == "numpy:same" and found["precise"]
    assert list(found["contenders"]) == ["numpy:same", "numpy:best"]
    for one in found["contenders"].values():
        assert [len(run) for run in one["seconds_per_step"]] == [bench.LEAST, bench.LEAST]
        assert len(one["processes"]) == 2 and one["processes"][0]["peak_memory_bytes"] > 1e7
    assert found["contenders"]["numpy:same"]["ratio"] == 1
    assert 0.5 < found["contenders"]["numpy:best"]["ratio"] < 2
    assert "matrix product" in capsys.readouterr().out


def test_a_worker_that_ends_is_told_in_its_own_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "start", functools.partial(bench.start, python=("-c", "print(7)")))
    arguments = ["numpy:same", "--out", str(tmp_path / "bench.json")]
    assert commands.guarded(bench.command, arguments) == 2
    assert "numpy:same did not start: 7" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
