"""The bench: intervals of ratios, contenders in turn, no process left, clear errors."""

import json
import os
import signal
import subprocess
import sys
import types
from contextlib import suppress

import numpy as np
import psutil
import pytest

from common.bench import (
    bench,
    compare,
    contenders,
    earlier,
    process,
    remote,
    report,
    request,
    rounds,
    scaling,
)
from common.networks.cnn import CNN
from common.system import commands, environments, machine
from common.system.errors import InputError, NotProven
from common.system.files import ROOT
from tests import some
from tests.common.test_signals import heed_signals


def drifting(factor, rounds, noise, seed):
    """Seconds per step on a machine that gets slower and faster again."""
    random = np.random.RandomState(seed)
    drift = 1 + 0.5 * np.sin(np.arange(rounds) / 3.0)
    return factor * drift * (1 + noise * random.normal(size=rounds))


def test_a_slowdown_of_both_does_not_change_their_ratio():
    baseline, other = drifting(1, 30, 0.01, 1), drifting(0.5, 30, 0.01, 2)
    value, (low, high) = compare.ratio([other], [baseline])
    assert 1.96 < low < value < high < 2.04
    assert compare.precision([other], [baseline]) < 0.02
    assert compare.verdict([low, high]) == "faster"


@pytest.mark.parametrize("runs", [1, 3])
def test_equal_ones_show_no_difference_in_nearly_all_benches(runs):
    shown = 0
    for seed in range(40):
        pair = [
            [drifting(1, 20, 0.02, 1000 * seed + 10 * run + side) for run in range(runs)]
            for side in (0, 1)
        ]
        shown += compare.verdict(compare.ratio(*pair)[1]) != "no difference shown"
    assert shown <= 6  # 2 are expected


def test_runs_that_differ_widen_the_interval():
    baseline = [drifting(1, 20, 0.001, seed) for seed in range(3)]
    alike = [drifting(1, 20, 0.001, 10 + seed) for seed in range(3)]
    apart = [factor * times for factor, times in zip((0.9, 1.0, 1.1), alike)]
    assert compare.precision(alike, baseline) < 0.005 < 0.1 < compare.precision(apart, baseline)
    assert compare.between_runs(apart, baseline) == pytest.approx(np.log(1.1 / 0.9), rel=0.01)
    assert compare.within_runs(apart, baseline) < 0.005


@pytest.mark.parametrize("runs", [1, 3])
def test_unchanged_contenders_show_no_change_in_nearly_all_benches(runs):
    shown = 0
    for seed in range(40):
        now, before = (
            [-np.log(drifting(1, 20, 0.02, 1000 * seed + 10 * run + side)) for run in range(runs)]
            for side in (0, 1)
        )
        shown += compare.verdict(compare.change(now, before)[1]) != "no difference shown"
    assert shown <= 6  # 2 are expected


def test_a_single_run_is_taken_to_spread_as_the_other_sides_runs():
    apart = [np.full(20, 0.1 * run) for run in range(3)]
    for now, before in ((apart, apart[2:]), (apart[2:], apart)):
        assert compare.verdict(compare.change(now, before)[1]) == "no difference shown"


def test_one_estimate_of_the_spread_counts_once():
    apart = [np.full(20, 0.01 * run) for run in range(3)]
    _, (low, high) = compare.change(apart[1:2], apart)
    error = np.sqrt(np.var([0, 0.01, 0.02], ddof=1) * (1 + 1 / 3))
    assert np.log(high / low) / 2 == pytest.approx(4.30 * error)  # two degrees of freedom


def test_a_change_is_held_to_the_spread_of_both_benches():
    before = [np.full(20, 0.01 * run) for run in range(3)]
    value, interval = compare.change([run + np.log(1.1) for run in before], before)
    assert value == pytest.approx(1.1) and compare.verdict(interval) == "faster"
    apart = [10 * run for run in before]
    _, interval = compare.change([run + np.log(1.1) for run in apart], before)
    assert compare.verdict(interval) == "no difference shown"


def test_nobody_always_follows_the_same_one():
    followed = {key: set() for key in "abc"}
    for number in range(6):
        order = rounds.in_order(list("abc"), number)
        assert sorted(order) == list("abc")
        for before, after in zip(order, order[1:]):
            followed[after].add(before)
    assert all(len(others) == 2 for others in followed.values())


class Timed:
    """A contender whose block of steps takes 0.3 s, and 0.4 s of its processes."""

    def order(self, order):
        return {"seconds": 0.3, "cpu_seconds": 0.4}


def test_a_block_is_timed_per_step_and_others_are_what_its_processes_did_not_use(monkeypatch):
    clock, used = iter([10.0, 11.0]), iter([100.0, 101.4])
    monkeypatch.setattr(rounds.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(rounds.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(rounds, "busy", lambda: next(used))
    monkeypatch.setattr(machine, "allowed_cores", lambda: [0, 1])
    assert rounds.block(Timed(), 4) == (0.3 / 4, pytest.approx((1.4 - 0.4) / 2))


@pytest.mark.parametrize(
    "minutes, precise, count", [(10, [1, 0, 1, 1], 25), (10, [1, 1], 15), (0, [0], 10)]
)
def test_a_run_ends_when_it_is_precise_twice_or_time_is_up(minutes, precise, count, monkeypatch):
    asked = request.parse(["numpy", "--model", "lstm", "--threads", "1"])
    records, looks = rounds.Records(asked._replace(minutes=minutes)), iter(precise)
    monkeypatch.setattr(rounds.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(rounds, "bandwidth", lambda threads: 1e10)
    monkeypatch.setattr(machine, "matmul_flops", lambda: 1e11)
    monkeypatch.setattr(rounds.Records, "precise", lambda *_: bool(next(looks)))
    for runs in records.times.values():
        runs.append([])
    rounds.time_rounds(records.request, records, {key: Timed() for key in records.times})
    assert len(records.rounds) == count
    assert all(times == [[0.3 / 13] * count] for times in records.times.values())  # 2 s / 0.15 s


@pytest.mark.parametrize("count", [2, 9, 24])
def test_a_machine_that_slows_down_within_rounds_slows_all_alike(count):
    names, places = list(range(count)), np.zeros(count)
    for number in range(rounds.LEAST_ROUNDS):
        for place, name in enumerate(rounds.in_order(names, number)):
            places[name] += place
    assert (places == places[0]).all()


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["nothing"], "unknown framework 'nothing'"),
        (["numpy:fast"], "numpy:fast: the lanes are same, best, bf16, tf32, plain"),
        (["numpy:plain", "numpy"], "numpy:plain: plain scripts exist for the CNN only, of "),
        ([some.WITH_SCRIPT + ":plain", "numpy", "--model", "mlp"], "exist for the CNN only"),
        ([some.WITH_SCRIPT + ":plain@8", "numpy"], "a plain script does not take a lever"),
        ([some.WITH_SCRIPT_ON_GPU + ":plain", "numpy"], "plain scripts are timed on CPUs"),
        ([some.without("resnet"), "--model", "resnet"], "has no network 'resnet'"),
        (["numpy:same", "numpy", "--baseline", "other:best"], "--baseline other:best is not among"),
        (["numpy:same"], "a bench needs at least two contenders"),
        ([], "a bench needs at least two contenders"),
        (["numpy:same@\u00b2", "numpy"], "a batch size of 1 or more belongs after the @"),
        (["numpy@8", "--batch-sizes", "8", "9"], "numpy@8 has a batch size already"),
        (["numpy@64", "numpy@"], "numpy@: a batch size of 1 or more"),
        (["numpy", "--precision", "2"], "'2' is not a share between 0 and 1"),
        (["numpy", "--runs", "0"], "'0' is not a whole number"),
        (
            ["numpy:best+none", "numpy"],
            "numpy has no lever 'none'; known: freed, heaps, huge_pages, whole_batch",
        ),
        (["numpy+freed", "numpy"], "numpy+freed: a lever needs a lane: NAME:LANE+LEVER"),
        (["numpy:best", "--levers"], "unknown framework 'numpy:best'"),
        (["numpy/", "numpy"], "numpy/: a number of threads belongs after"),
        (["numpy/x1", "numpy"], "numpy/x1: the number of workers belongs before"),
        (["numpy/4096", "numpy"], "numpy/4096: more threads than the"),
        (["numpy/2x1", "numpy"], "numpy has no workers that share a batch; these have: "),
        ([some.WITH_WORKERS + "/2x4096", "numpy"], "/2x4096: more threads than the"),
        ([some.WITH_WORKERS + "/2x1@3", "numpy"], "these workers cannot share a batch equally"),
        (["numpy", "--levers", "--model", "mlp"], "numpy has no levers for mlp"),
        (["numpy", "numpy", "--levers"], "--levers takes one environment"),
        (["numpy", "--levers", "--batch-sizes", "8", "64"], "--levers takes one batch size"),
        (["--against", "nowhere.json"], "nowhere.json: No such file"),
        (["--against", __file__], "test_bench.py is not JSON"),
        (["--against", earlier.SCHEMA], "bench.schema.json is not the result of a bench"),
    ],
)
def test_bad_input_is_one_line(arguments, line, capsys):
    assert commands.guarded(bench.command, arguments) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "text, key",
    [
        ("numpy", ("numpy", None, None, 1, None, None)),
        ("a-name:best", ("a-name", "best", None, 1, None, None)),
        ("a:best+compile@8", ("a", "best", "compile", 1, None, 8)),
        ("a:best/2x1@8", ("a", "best", None, 2, 1, 8)),
        ("a:same+by_hand/1", ("a", "same", "by_hand", 1, 1, None)),
    ],
)
def test_a_contender_is_read_and_written(text, key):
    contender = contenders.Contender(*key)
    assert contenders.read(text) == contender and contender.text == text


def test_a_contender_with_a_line_break_is_bad_input():
    with pytest.raises(InputError, match="a batch size of 1 or more belongs after the @"):
        contenders.read("numpy@\n5")


def test_defaults_are_left_out_of_a_contenders_name():
    """A contender has one name, so that it is recognised in an earlier bench."""
    size = CNN.hp.batch_size
    assert list(contenders.resolve(["numpy:same/1@%d" % size], "cnn", 1)) == ["numpy:same"]
    assert list(contenders.resolve(["numpy:same/1@8"], "cnn", 2)) == ["numpy:same/1@8"]
    names = ["numpy:same/1@%d" % size, "numpy:best/1"]
    assert (
        request.parse(names + ["--threads", "1", "--baseline", names[0]]).baseline == names[0][:10]
    )


@pytest.mark.parametrize("script, threads", [(":plain", "1"), (":plain/1", "2")])
def test_a_plain_script_uses_all_cores(script, threads, monkeypatch, capsys):
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    arguments = [some.WITH_SCRIPT + script, "numpy", "--threads", threads]
    assert commands.guarded(bench.command, arguments) == 2
    assert "a plain script sets no threads: it uses all 2 cores" in capsys.readouterr().err


def test_a_number_of_threads_for_a_users_interpreter_is_kept():
    """Without one, the variables of the user's shell decide."""
    (name,) = contenders.resolve(["numpy@%s:best/1" % sys.executable], "cnn", 1)
    assert name == "numpy@%s:best/1" % sys.executable


def test_after_a_lever_is_left_out_signals_work_again(monkeypatch):
    monkeypatch.setenv(commands.SPEAKER, str(os.getpid()))
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        raise NotProven("numpy", "dropout")
    except NotProven:
        remote.stop([])
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


def here(monkeypatch):
    """Run contenders in this interpreter instead of their environments, beside another bench."""
    monkeypatch.setattr(bench, "alone", suppress)
    monkeypatch.setattr(environments, "make", lambda names: None)
    monkeypatch.setattr(remote, "start", started_here)
    monkeypatch.setattr(rounds, "LEAST_ROUNDS", 2)
    monkeypatch.setattr(rounds, "bandwidth", lambda threads: 1e10)
    monkeypatch.setattr(machine, "matmul_flops", lambda: 1e11)
    monkeypatch.setenv("PYTHONPATH", ROOT)


def started_here(contender, asked, start=remote.start):
    command = start(contender, asked)
    return [sys.executable] + command[command.index("python") + 1 :]


SHORT = ["numpy", "--model", "lstm", "--seconds", ".1", "--minutes", "1", "--threads", "1"]


@pytest.mark.slow
def test_two_lanes_are_timed_in_turn(tmp_path, monkeypatch, capsys):
    here(monkeypatch)
    monkeypatch.setattr(rounds, "LOOK", 1)
    out = tmp_path / "bench.json"
    arguments = SHORT + ["--precision", "0.99", "--runs", "1", "--out", str(out)]
    assert bench.command(arguments) == 0
    result = json.loads(out.read_text())
    assert result["baseline"] == "numpy:same"
    assert list(result["contenders"]) == ["numpy:same", "numpy:best"]
    for contender in result["contenders"].values():
        (times,) = contender["seconds_per_step"]
        assert len(times) == len(contender["others"]) == len(result["rounds"]) >= 2
        assert contender["processes"][0]["peak_memory_bytes"] > 1e7
    assert result["contenders"]["numpy:same"]["ratio"] == 1
    assert result["contenders"]["numpy:best"]["ratio"] > 0
    text = capsys.readouterr().out
    assert "matrix product" in text and "one run: the intervals do not cover" in text
    check_against(out, monkeypatch, capsys)


@pytest.mark.slow
def test_the_costs_of_steps_and_of_images_are_separated(tmp_path, monkeypatch, capsys):
    here(monkeypatch)
    monkeypatch.setattr(rounds, "LOOK", 1)
    out = tmp_path / "bench.json"
    sizes = ["--batch-sizes", "8", "64", "512", "--precision", "0.99"]
    arguments = ["numpy:same"] + SHORT[1:] + sizes + ["--runs", "1", "--out", str(out)]
    assert bench.command(arguments) == 0
    result = earlier.read(str(out))  # keeps the schema
    assert list(result["contenders"]) == ["numpy:same@8", "numpy:same@64", "numpy:same@512"]
    fit = result["scaling"]["numpy:same"]
    assert fit["batch_sizes"] == [8, 64, 512]
    for size, seconds in zip(fit["batch_sizes"], fit["seconds_per_step"]):
        per_second = result["contenders"]["numpy:same@%d" % size]["per_second"]
        assert per_second == pytest.approx(size / seconds)
    # With an LSTM of five units nearly all time is overhead, on any machine.
    assert result["contenders"]["numpy:same@512"]["ratio"] > 2
    assert "ms a step and" in capsys.readouterr().out


@pytest.mark.parametrize("product", [machine.float32_product, None])
def test_a_product_of_bfloat16_is_timed_if_the_framework_has_one(product, monkeypatch):
    known = {"product": product} if product else {}
    mixed = types.SimpleNamespace(**known)
    monkeypatch.setattr(process.modules, "load", lambda name, lane: mixed)
    result = process.product(types.SimpleNamespace(name="any", lane="bf16"))
    assert (result["flops"] > 1e8) if product else result == {}


def test_a_slower_machine_makes_no_contender_slower():
    """All take 1.1 times as long, matrix products 1.2 times; one contender takes half."""

    def made(slower, product):
        times = [[0.1 * slower] * 4, [0.101 * slower] * 4]
        contender = {"seconds_per_step": times, "processes": [{"source_sha256": "as it was"}]}
        contenders = {key: dict(contender) for key in ("a", "b", "c", "d")}
        return {"made": "then", "contenders": contenders, "rounds": [{"matmul_flops": product}] * 8}

    now, then = made(1.1, 1e11 / 1.2), made(1, 1e11)
    quick = [[seconds / 2 for seconds in run] for run in now["contenders"]["a"]["seconds_per_step"]]
    now["contenders"]["a"]["seconds_per_step"] = quick
    result = earlier.since(now, then)
    assert result["together"]["ratio"] == pytest.approx(1.2 / 1.1)
    ratios = [change["ratio"] for change in result["changes"].values()]
    assert ratios == pytest.approx([2, 1, 1, 1])
    verdicts = [change["verdict"] for change in result["changes"].values()]
    assert verdicts[1:] == ["no difference shown"] * 3
    assert "that, per matrix product" in earlier.summary(result)


@pytest.mark.parametrize("slow", list("abcde"))
def test_one_contender_that_slows_down_is_no_yardstick(slow):
    """Whatever their speeds are."""

    def made(slower):
        usual = dict(a=0.1, b=0.2, c=0.3, d=0.5, e=0.9)
        contenders = {
            key: {
                "seconds_per_step": [[seconds * (slower if key == slow else 1)] * 4],
                "processes": [{"source_sha256": "as it was"}],
            }
            for key, seconds in usual.items()
        }
        return {"made": "then", "contenders": contenders, "rounds": [{"matmul_flops": 1e11}] * 4}

    result = earlier.since(made(1.2), made(1))
    assert result["together"]["ratio"] == pytest.approx(1)
    for key, change in result["changes"].items():
        assert change["ratio"] == pytest.approx(1 / 1.2 if key == slow else 1)


def test_changed_contenders_are_no_yardstick():
    """Three of five became twice as fast; the other two did not become slower."""

    def made(seconds, processes):
        contenders = {
            key: {"seconds_per_step": [[seconds[key]] * 4] * 2, "processes": [processes[key]]}
            for key in seconds
        }
        return {"made": "then", "contenders": contenders, "rounds": [{"matmul_flops": 1e11}] * 8}

    old = {key: {"source_sha256": "old", "settings": {"threads": 2}} for key in "abcde"}
    new = dict(old, a={"source_sha256": "new"}, b=dict(old["b"], settings={"threads": 1}))
    new.update(c=dict(old["c"], cpu_switches={"MKL_DEBUG_CPU_TYPE": "5"}))
    then = made(dict.fromkeys("abcde", 0.2), old)
    result = earlier.since(made(dict(dict.fromkeys("abc", 0.1), d=0.2, e=0.2), new), then)
    assert "together" not in result
    ratios = {key: change["ratio"] for key, change in result["changes"].items()}
    assert ratios == pytest.approx(dict(a=2, b=2, c=2, d=1, e=1))


@pytest.mark.parametrize("overhead, image", [(0.01, 0.002), (0, 0.002), (0.01, 0)])
def test_a_fit_finds_both_parts(overhead, image):
    sizes = [1, 4, 16, 64]
    per_step, per_image, off = scaling.fit(sizes, [overhead + size * image for size in sizes])
    assert per_step == pytest.approx(overhead, abs=1e-9)
    assert per_image == pytest.approx(image, abs=1e-9)
    assert off < 1e-6


def test_a_fit_is_never_negative():
    for seconds in ([0.01, 0.05, 0.25], [0.05, 0.04, 0.03]):
        per_step, per_image, off = scaling.fit([1, 4, 16], seconds)
        assert per_step >= 0 and per_image >= 0 and off > 0


def check_against(out, monkeypatch, capsys):
    """A second bench finds one contender twice as fast, on a machine half as fast."""
    result = json.loads(out.read_text())
    for contender in result["contenders"].values():  # as on a quiet machine, unlike this one
        times = contender["seconds_per_step"][0]
        times[:] = [0.01 + 1e-5 * (number % 3) for number in range(len(times))]
    for number, speeds in enumerate(result["rounds"]):
        speeds["matmul_flops"] = 1e11 + 1e8 * (number % 2)
    out.write_text(json.dumps(result))

    def again(asked, number, records, listener, token):
        for key, contender in result["contenders"].items():
            factor = {"numpy:same": 1, "numpy:best": 2}[key]
            records.times[key].append([t * factor for t in contender["seconds_per_step"][0]])
            records.others[key] += contender["others"]
            records.facts[key] += contender["processes"]
        for speeds in result["rounds"]:
            float32 = speeds["matmul_flops"] / 2
            records.rounds.append(dict(speeds, matmul_flops=float32, bfloat16_flops=2e12))

    monkeypatch.setattr(rounds, "run", again)
    later = out.parent / "later.json"
    arguments = ["--against", str(out), "--runs", "1"]  # model, threads and baseline as before
    assert bench.command(arguments + ["--out", str(later)]) == 0
    said = capsys.readouterr().out
    assert "against the bench of 20" in said and "bfloat16 2000 GFLOP/s" in said
    written = earlier.read(str(later))
    assert written["baseline"] == result["baseline"] and written["model"] == "lstm"
    changes = written["against"]["changes"]
    assert changes["numpy:same"]["ratio"] == pytest.approx(2)
    assert changes["numpy:same"]["verdict"] == "faster"
    assert changes["numpy:best"]["ratio"] == pytest.approx(1)
    assert commands.guarded(bench.command, ["--against", str(out), "--model", "mlp"]) == 2
    assert "has another model: 'lstm', not 'mlp'" in capsys.readouterr().err
    facts = dict(result["machine"], cpu_family=1, cpu_model=2, isa=[])
    with pytest.raises(InputError, match="comes from another machine: cpu_model 2, not 3"):
        earlier.check({"machine": facts}, "x.json", machine=dict(facts, cpu_model=3))
    result["machine"]["cpu"] = "another one"
    out.write_text(json.dumps(result))
    assert commands.guarded(bench.command, ["--against", str(out), "--model", "lstm"]) == 2
    assert "comes from another machine: cpu 'another one'" in capsys.readouterr().err
    result["rounds"].append(result["rounds"][0])
    out.write_text(json.dumps(result))
    assert commands.guarded(bench.command, ["--against", str(out), "--model", "lstm"]) == 2
    assert "numpy:same was not timed in every round" in capsys.readouterr().err


def test_the_last_words_of_a_contender_that_ends_are_shown(tmp_path, monkeypatch, capsys):
    here(monkeypatch)
    monkeypatch.setattr(remote, "start", lambda *_: [sys.executable, "-c", "print(7); exit(4)"])
    arguments = ["numpy", "--out", str(tmp_path / "bench.json")]
    assert commands.guarded(bench.command, arguments) == 2
    assert "numpy:same did not start: 7 (exit code 4)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


class Started:
    """A process of a contender; some are not proven."""

    facts = {}

    def __init__(self, key, *_):
        if key in self.others:
            raise NotProven(key, "dropout: other masks")

    def order(self, steps):
        return {}


@pytest.fixture
def levers(monkeypatch):
    """A request for NumPy's levers; their processes are not really started."""
    monkeypatch.setattr(remote, "Remote", Started)
    monkeypatch.setattr(remote, "stop", lambda remotes: None)
    monkeypatch.setattr(rounds, "time_rounds", lambda *_: None)
    return request.parse(["numpy", "--levers"])


def test_a_lever_that_changes_the_network_is_left_out(levers, monkeypatch, capsys):
    monkeypatch.setattr(Started, "others", ["numpy:best+freed"], raising=False)
    records, count = rounds.Records(levers), len(levers.contenders)
    for number in range(2):
        rounds.run(levers, number, records, None, None)
    assert "numpy:best+freed" not in records.times and len(records.times) == count - 1
    assert all(len(runs) == 2 for runs in records.times.values())
    assert records.not_proven == {"numpy:best+freed": "dropout: other masks"}
    assert capsys.readouterr().out.count("left out   numpy:best+freed is not proven") == 1


def test_what_stops_a_run_leaves_the_finished_ones(tmp_path, monkeypatch):
    asked = request.parse(["numpy", "--threads", "1"])
    records, path = rounds.Records(asked), str(tmp_path / "bench.json")
    facts = {"settings": {"device": "cpu", "threads": 1}, "peak_memory_bytes": 1}
    for number, count in enumerate((10, 12, 3)):  # the third run is stopped
        for key in records.times:
            records.times[key].append([0.1 * (number + 1)] * count)
            records.others[key] += [0.0] * count
            records.facts[key].append(facts)
        records.rounds += [{"matmul_flops": 1e11, "bandwidth": 1e10}] * count
    for finished in (0, 2):
        with pytest.raises(InputError), bench.kept_if_stopped(records, finished, {}, path):
            raise InputError("numpy:best has died")
        assert len(list(tmp_path.iterdir())) == (finished > 0)
    result = json.loads((tmp_path / "bench-stopped.json").read_text())
    assert result["runs"] == 2 and len(result["rounds"]) == 22
    for contender in result["contenders"].values():
        assert [len(run) for run in contender["seconds_per_step"]] == [10, 12]
        assert len(contender["others"]) == 22 and len(contender["processes"]) == 2
        assert contender["share_of_matmul"] > 0


def test_a_share_of_the_product_is_of_as_many_threads(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    asked = request.parse(["numpy:same", "numpy:best/1", "--threads", "2"])
    records = rounds.Records(asked)
    for key, threads in zip(records.times, (2, 1)):
        records.times[key], records.others[key] = [[0.1] * 10], [0.0] * 10
        records.facts[key] = [{"settings": {"device": "cpu", "threads": threads}}]
    records.rounds = [{"matmul_flops": 1e11, "bandwidth": 1e10}] * 10
    both = report.result(records, {})["contenders"].values()
    assert ["share_of_matmul" in contender for contender in both] == [True, False]


@pytest.mark.parametrize("plain", [True, False])
def test_without_its_plain_lane_or_any_lever_a_bench_ends(plain, levers, monkeypatch):
    names = list(levers.contenders)
    others = names[:1] if plain else names[1:]
    monkeypatch.setattr(Started, "others", list(others), raising=False)
    with pytest.raises(NotProven, match="numpy:best"):
        rounds.run(levers, 0, rounds.Records(levers), None, None)


STOPPED = """
import contextlib, sys
from common.bench import bench, remote
from common.system import commands, environments
from tests.common.test_bench import started_here
environments.make, remote.start = lambda names: None, started_here
bench.alone = contextlib.suppress  # other benches of this machine's user are no matter
sys.exit(commands.guarded(bench.command, sys.argv[1:]))
"""


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("moment", ["starting", "round"])
@pytest.mark.slow
def test_a_stopped_bench_leaves_nothing_behind(tmp_path, number, code, moment):
    out = tmp_path / "bench.json"
    command = [sys.executable, "-c", STOPPED] + SHORT + ["--out", str(out)]
    environment = dict(os.environ, PYTHONPATH=ROOT, ROSETTA_STOPPED="yes")
    stopped = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        preexec_fn=heed_signals,
    )
    try:
        while not stopped.stdout.readline().startswith(moment):
            assert stopped.poll() is None, stopped.stderr.read()
        stopped.send_signal(number)
        _, error = stopped.communicate(timeout=60)
    finally:
        stopped.kill()
    assert stopped.returncode == code and error.count("\n") == 1, error
    assert not out.exists() and not left("ROSETTA_STOPPED")


def left(variable):
    """The running processes of contenders that have this in their environment."""
    processes = []
    for running in psutil.process_iter():
        try:
            environment = running.environ()
        except (psutil.Error, OSError):
            continue
        if variable in environment and process.TOKEN in environment:
            processes.append(running)
    return processes


def test_each_frameworks_levers_have_a_file_of_their_own(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    facts = {"cpu": "Intel(R) Xeon(R) Processor", "cores": 2, "gpus": []}
    asked = request.parse(["numpy", "--model", "mnist_cnn", "--levers", "--threads", "2"])
    path = request.result_path(asked, facts)
    assert path.endswith(os.path.join("intel-xeon-2-cores", "mnist_cnn-levers-numpy.json"))
    asked = request.parse(["numpy", "--levers", "--threads", "2", "--batch-sizes", "8"])
    assert request.result_path(asked, facts).endswith("cnn-levers-numpy-batch8.json")
