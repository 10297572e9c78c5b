"""Result files that are old, foreign or broken are named and left out; the others are shown."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import frameworks
from common.networks.cnn import CNN
from common.profiles import categories
from common.records import records
from common.system import modules, source
from common.system.files import ROOT
from reports import __main__ as command
from reports import bench_tables, committed, lessons, markdown, studies, tables
from reports.table import CHANGED, dagger
from tests.some import WITH_SCRIPT

ONE, TWO, THREE, FOUR, *_ = [name for name, one in frameworks.ENVIRONMENTS.items() if not one.gpu]


@pytest.fixture
def folder(tmp_path, results):
    """A results folder with one good file in it, to spoil."""
    good = results / committed.read(results)[0].runs[0].path
    machine = tmp_path / "results" / "machine"
    machine.mkdir(parents=True)
    shutil.copy(good, machine / "good.json")
    return machine


def test_every_committed_result_is_used(results):
    used, left_out = committed.read(results)
    assert used.runs and left_out == {}


def with_losses(text, loss):
    """The file of the same run with another loss."""
    return json.dumps(dict(json.loads(text), losses=["LOSS"])).replace('"LOSS"', loss)


def without_time(text):
    """The file of the same run, had a step taken no time."""
    result = json.loads(text)
    result["timings"]["step"]["median"] = 0
    return json.dumps(result)


def stopped(text):
    """The file of the same run, had it met a loss that is no number."""
    result = json.loads(text)
    for key in ("accuracy", "timings", "peak_memory_bytes"):
        del result[key]
    return json.dumps(dict(result, status="stopped", error="NaN"))


@pytest.mark.parametrize(
    "spoil, why",
    [
        (lambda text: text[: len(text) // 2], "not JSON"),
        (lambda text: "[1]", "schema version None"),
        (lambda text: text.replace('"schema": 1', '"schema": 0'), "schema version 0, not 1"),
        (lambda text: text.replace('"lane"', '"street"', 1), "not a result"),
        (lambda text: with_losses(text, "NaN"), "NaN is not a finite number"),
        (lambda text: with_losses(text, "1e400"), "1e400 is not a finite number"),
        (lambda text: with_losses(text, "9" * 400), "is not a finite number"),
        (without_time, "not a result: timings/step/median"),
        (stopped, "of a run that stopped: NaN"),
    ],
)
def test_a_spoilt_file_is_named_and_left_out(folder, spoil, why):
    text = (folder / "good.json").read_text()
    (folder / "spoilt.json").write_text(spoil(text))
    used, left_out = committed.read(folder.parent.parent)
    assert [one.path for one in used.runs] == ["results/machine/good.json"]
    assert list(left_out) == ["results/machine/spoilt.json"]
    assert why in left_out["results/machine/spoilt.json"]


def test_markup_in_a_file_is_shown_as_text(folder, phrase_book):
    """Profilers name operations, and the tables show the names."""
    profiles = folder.parent.parent / "profiles" / "machine"
    profiles.mkdir(parents=True)
    profile = dict(profile_result(), operations={"<script>alert(1)</script>|": 0.2})
    (profiles / "one.json").write_text(json.dumps(profile))
    used, _ = committed.read(folder.parent.parent)
    pages = "".join(markdown.written(used).values())
    assert "<script>" not in pages and "&lt;script&gt;alert(1)&lt;/script&gt;\\|" in pages


def test_no_time_without_a_passed_certificate(folder):
    result = json.loads((folder / "good.json").read_text())
    result["certificate"]["passed"] = False
    used = [committed.Committed("results/machine/good.json", "machine", result)]
    (row,) = tables.results(used, "machine", CNN).rows
    assert row[3:8] == ["not proven", "-", "-", "-", "-"]


def test_the_networks_table_tells_what_is_on_record(monkeypatch):
    """A lane whose record is stale is marked, one that failed is not proven."""
    passed, failed = {"rungs": [{"passed": True}]}, {"rungs": [{"passed": False}]}
    at = {"same": (passed, records.FRESH), "best": (passed, records.STALE)}
    monkeypatch.setattr(records.Proof, "read", lambda proof: at[proof.lane][0])
    monkeypatch.setattr(records.Proof, "state", lambda proof: at[proof.lane][1])
    assert tables.networks().rows[0][1][0] == "proven: same and best†"
    at["same"] = failed, records.FRESH
    assert tables.networks().rows[0][1][0] == "proven: best†"
    at["best"] = None, records.MISSING
    assert tables.networks().rows[0][1][0] == "no record"


def test_a_bench_is_a_table_the_fastest_first(tmp_path):
    """And one that is spoilt, or of a later version, is left out."""
    machine = tmp_path / "bench" / "machine"
    machine.mkdir(parents=True)
    found = bench_result()
    (machine / "bench.json").write_text(json.dumps(found))
    (machine / "cut.json").write_text(json.dumps(dict(found, contenders={})))
    (machine / "later.json").write_text(json.dumps(dict(found, schema=9)))
    alone = bench_result()
    alone["contenders"][TWO + ":best"]["others"] = []
    (machine / "unwatched.json").write_text(json.dumps(alone))
    used, left_out = committed.read(tmp_path)
    names = [path.split("/")[-1] for path in sorted(left_out)]
    assert names == ["cut.json", "later.json", "unwatched.json"]
    assert tables.machines(used) == ["machine"]
    (table,) = tables.measured(used, "machine")
    assert [row[0][0] for row in table.rows] == [TWO + ", best", ONE + ", same"]
    assert table.rows[0][1:4] == ["no difference shown", "1.010 (0.990–1.030)", "101"]
    assert "1.010 (0.990–1.030)" in markdown.text(markdown.results(used))
    assert_drawn(table, TWO + ", best", ONE + ", same", "times as fast")


def test_a_contender_whose_runs_differ_too_much_is_not_judged(tmp_path):
    found = bench_result()
    found["contenders"][TWO + ":best"]["interval"] = [0.01, 30]
    (table,) = measured_alone(tmp_path, found)
    answer = table.answers[0][1]
    assert answer.startswith(ONE + ", same is the fastest in this one run: ")
    assert answer.endswith("Not judged, because their runs differ too much: %s, best." % TWO)
    assert "One run does not show" in table.note and table.rows[0][6] == "-"
    found["runs"] = 2
    (table,) = measured_alone(tmp_path / "two", found)
    assert "One run does not show" not in table.note and table.rows[0][6] == "0.0%"


def test_what_was_timed_of_a_module_that_has_changed_since_is_marked(tmp_path):
    """And the mark is explained, where there is one."""
    found = bench_result()
    (table,) = measured_alone(tmp_path / "as it was", found)
    assert table.explained == table.note
    found["contenders"][ONE + ":same"]["processes"] = [{"source_sha256": "0" * 64}]
    (table,) = measured_alone(tmp_path / "changed", found)
    assert [row[0][0] for row in table.rows] == [TWO + ", best", ONE + ", same †"]
    assert table.explained == table.note + " " + CHANGED


def test_workers_are_part_of_the_code_that_was_timed():
    name = next(name for name in frameworks.ENVIRONMENTS if modules.has(name, "workers"))
    files = [modules.path(frameworks.ENVIRONMENTS[name], file) for file in ("cnn", "workers")]
    paths = [Path(ROOT, file) for file in files]
    hashes = [source.texts_sha256(some) for some in (paths[:1], paths, paths[1:])]
    run = {"framework": name, "lane": "best", "model": "cnn"}
    marks = [dagger(dict(run, source_sha256=each)) for each in hashes]
    assert marks == ["", "", " †"]


def test_what_changed_since_an_earlier_bench_stands_beside_it(tmp_path):
    change = {"ratio": 1.04, "interval": [1.02, 1.06], "verdict": "faster"}
    against = {"made": "2026-11-22T19:43:00Z", "changes": {TWO + ":best": change}}
    against["together"] = dict(change, ratio=0.98, interval=[0.97, 0.99], verdict="slower")
    (table,) = measured_alone(tmp_path, dict(bench_result(), against=against))
    assert "changed by a factor of 0.980 (0.970–0.990) in matrix products" in table.note
    assert table.columns[-2:] == ["since 2026-11-22 19:43 (95%) ", ""]
    assert [row[-2:] for row in table.rows] == [["1.040 (1.020–1.060)", "faster"], ["-", "-"]]


def assert_drawn(table, *texts):
    """The table's figure has these texts, and says where it comes from."""
    figure = table.figure()
    for text in texts:
        assert ">%s<" % text in figure.svg
    assert figure.provenance.startswith("Data: random numbers. Machine: ")


def with_levers():
    """(environment, a lever that its lane best has, one that it has not)."""
    for name in frameworks.ENVIRONMENTS:
        levers = modules.levers(name)
        kept, others = (
            [n for n, one in levers.items() if one.kept is is_kept] for is_kept in (True, False)
        )
        if kept and others:
            return name, kept[0], others[0]


def test_what_levers_gave_is_one_table(tmp_path):
    """Each is with it against without it, whichever of the two lane best has."""
    found = bench_result()
    one = found["contenders"].pop(ONE + ":same")
    two = found["contenders"].pop(TWO + ":best")
    name, kept, other = with_levers()
    keys = [name + ":best", name + ":best+" + kept, name + ":best+" + other]
    slower = dict(two, ratio=0.5, interval=[0.4, 0.8], verdict="slower")
    found["contenders"] = dict(zip(keys, (one, slower, two)))
    (table,) = measured_alone(tmp_path, dict(found, baseline=keys[0]))
    assert [row[3:] for row in table.rows] == [
        ["2.000 (1.250–2.500)", "faster", "yes"],
        ["1.010 (0.990–1.030)", "no difference shown", "no"],
    ]
    assert_drawn(table, *(name + ": " + row[1] for row in table.rows))


def test_what_a_step_and_an_image_cost_is_a_table_of_its_own(tmp_path):
    """With the ratio to the first contender at the same batch size, and at no other."""
    found = bench_result()
    one, two = found["contenders"].values()
    quick = dict(two, seconds_per_step=[[0.5]])
    found["contenders"] = {ONE + ":same": one, ONE + ":same@8": one, TWO + ":best": quick}
    fit = {"batch_sizes": [8, 128], "seconds_per_step": [0.1, 1.0]}
    fit.update(peak_memory_bytes=[10**9, 2 * 10**9], overhead_per_step=0.09)
    fit.update(seconds_per_image=0.014, largest_error=0.031)
    found["scaling"] = {ONE + ":same": fit, TWO + ":best": fit}
    (table,) = measured_alone(tmp_path, found)
    first, second = (row[1:] for row in table.rows)
    assert first[:4] == ["90 ms", "14 s", "3%", "1.00 to 2.00 GB"]
    assert first[4:] == ["1000 ms (1000–1000)"] * 2
    assert second[4:] == ["-", "500 ms (500–500); 2.00 (2.00–2.00)"]
    assert_drawn(table, ONE + ", same", TWO + ", best", "8", "128")


def test_a_bench_of_other_batch_sizes_than_the_networks_own_is_drawn(tmp_path):
    found = bench_result()
    one, _ = found["contenders"].values()
    fit = {"batch_sizes": [8, 16], "seconds_per_step": [0.1, 1.0], "largest_error": 0.0}
    fit.update(peak_memory_bytes=[1, 2], overhead_per_step=0.1, seconds_per_image=0.1)
    sized = {ONE + ":same@8": dict(one, batch_size=8), ONE + ":same@16": dict(one, batch_size=16)}
    (table,) = measured_alone(tmp_path, dict(found, contenders=sized, scaling={ONE + ":same": fit}))
    assert table.rows[0][1] == "100 ms"
    assert not bench_tables.of_frameworks(
        committed.Committed("path", "m", dict(found, contenders=sized))
    )


def test_workers_stand_beside_one_process_on_one_core_and_on_all(tmp_path):
    """Who computes half a batch in 0.5 s and takes 0.8 s for the step exchanges for the rest."""
    found = bench_result()
    one, two = found["contenders"].values()
    timed = {"best": 1.0, "best/1": 1.5, "best/1@64": 0.5, "best/2x1": 0.8}
    found["contenders"] = {
        TWO + ":" + key: dict(
            two,
            batch_size=64 if "@" in key else 128,
            seconds_per_step=[[seconds, seconds]],
            per_second=round(128 / seconds),
        )
        for key, seconds in timed.items()
    }
    (table,) = measured_alone(tmp_path, dict(found, rounds=2 * found["rounds"]))
    (row,) = table.rows
    assert row[1:4] == ["cnn", "3.4", "128"]
    assert row[4:] == ["85", "128", "160", "1.25 (1.25–1.25)", "faster", "38%"]
    answer = dict(table.answers)["Answer"]
    label = TWO + ", best/2x1"
    assert label + ", cnn: faster with batches of 128. " in answer  # nothing is fitted
    assert row[0][0] == label and "Fits" not in table.note
    assert_drawn(table, label + ", cnn", *bench_tables.WORKERS)


FASTER = "faster with batches of 128, slower with batches of 5"


@pytest.mark.parametrize(
    "image, seconds, words",
    [
        (0.002, 0.5, FASTER + ", according to the fits faster from batches of 10."),
        (0.00295, 0.5, FASTER + "."),  # from 200 on: not so
        (0.004, 0.5, FASTER + "."),  # never: not so
        (0.002, 2.0, "slower with batches of 5, 128."),
    ],
)
def test_the_batch_from_which_workers_win_is_that_of_the_fits(image, seconds, words, tmp_path):
    """10 ms a step more, and so much an image; a fit that the times contradict is not said."""
    found = bench_result()
    one, two = found["contenders"].values()
    names = [TWO + ":best", TWO + ":best/1", TWO + ":best/2x1"]
    found["contenders"] = dict.fromkeys(names, dict(two, batch_size=128, seconds_per_step=[[1.0]]))
    timed = dict(found["contenders"][names[2]], seconds_per_step=[[seconds]])
    found["contenders"][names[2]] = timed
    for name, few in zip(names, (0.1, 0.1, 0.2)):
        slower = dict(timed, batch_size=5, seconds_per_step=[[few]])
        found["contenders"][name + "@5"] = slower
    fit = {"batch_sizes": [8, 128], "seconds_per_step": [0.1, 1.0], "largest_error": 0.0}
    fit.update(peak_memory_bytes=[10**9, 10**9], overhead_per_step=0.01, seconds_per_image=0.003)
    workers = dict(fit, overhead_per_step=0.02, seconds_per_image=image)
    found["scaling"] = {names[0]: fit, names[2]: workers}
    (table,) = measured_alone(tmp_path, found)
    assert TWO + ", best/2x1, cnn: " + words in dict(table.answers)["Answer"]
    assert "Fits: " in table.note


def test_a_study_of_a_single_contender_has_no_answer_made_up():
    study = studies.STEP["pose"]
    (answer, *_) = studies.answers(study, bench_tables._parted({TWO + ":best": {}}))
    assert answer == ("Answer", study.known + ".")
    rows = [[(ONE, ""), "a loop", "-", "-", "not proven: forward", "no"]]
    assert bench_tables._gained(rows).endswith(": a loop: not proven: forward")


def measured_alone(folder, found):
    """The tables of a machine that has this bench alone."""
    machine = folder / "bench" / "machine"
    machine.mkdir(parents=True)
    (machine / "bench.json").write_text(json.dumps(found))
    used, left_out = committed.read(folder)
    assert not left_out
    return tables.measured(used, "machine")


def test_where_a_steps_time_goes_is_one_table(tmp_path, monkeypatch):
    """In the registry's order; a profile that is spoilt, or of a later version, is left out."""
    machine = tmp_path / "profiles" / "machine"
    machine.mkdir(parents=True)
    tables_of = {(FOUR, "DIRECTIONS"): {"forward": "^Conv$", "backward": "Gradient$"}}
    monkeypatch.setattr(categories, "_table", lambda *key: tables_of.get(key, {}))
    found = profile_result()
    fused = dict(found, framework=TWO, parts={"not told apart": 1.0})
    fused.update(operations={"wrapped_add.3": 1e-4, "dot": 2e-6}, seconds_per_step=2e-4)
    slow = dict(found, lane="same", operations={"Conv > CorrMM{half}": 3.0, "CorrMM{valid}": 1.0})
    one = dict(direction="forward_training", type="f32", inputs=50, outputs=50)
    one.update(src="aBcd16b", weights="ABcd16b16a", dst="aBcd16b", multiply_adds=2500)
    names = ("gemm:jit", "x64:gemm:jit", "jit:avx512_core")
    found["kernels"] = [dict(one, kernel=kernel) for kernel in names]
    (machine / "four.json").write_text(json.dumps(found))
    (machine / "four-same.json").write_text(json.dumps(slow))
    (machine / "two.json").write_text(json.dumps(fused))
    (machine / "later.json").write_text(json.dumps(dict(found, schema=9)))
    (machine / "cut.json").write_text(json.dumps(dict(found, operations={})))
    (machine / "guess.json").write_text(json.dumps(dict(found, parts={"maybe ReLU": 1.0})))
    used, left_out = committed.read(tmp_path)
    assert [name.split("/")[-1] for name in left_out] == ["cut.json", "guess.json", "later.json"]
    assert tables.machines(used) == ["machine"] and tables.measured(used, "other") == []
    (table,) = tables.measured(used, "machine")
    assert table.columns[3:9] == [
        "forward ",
        "backward ",
        "convolution forward ",
        "convolution backward ",
        "not told apart ",
        "other ",
    ]
    names = [row[0][0].replace(" †", "") for row in table.rows]
    assert names == [TWO + ", best", FOUR + ", same", FOUR + ", best"]
    assert table.rows[0][1:9] == ["0.20 ms", "0.10 ms"] + ["-"] * 4 + ["100%", "-"]
    assert table.rows[0][9:12] == ["-"] * 3 and table.rows[0][-1] == "wrapped_add.3 98%; dot 2%"
    assert_drawn(table, TWO + ", best †", "convolution backward", "other")
    # 2 x 128 x 15 million operations in three quarters of the step, whatever the threads add up to.
    assert table.rows[1][1:9] == ["500 ms", "4000 ms", "< 1%", "< 1%", "25%", "50%", "-", "25%"]
    assert table.rows[1][9:] == [
        "10 GFLOP/s (10%)",
        "-",
        "-",
        "95%",  # 2 x 128 x 185 million operations at 1e11 a second, of half a second
        "CorrMM 100%",
    ]
    # And in three quarters of what the profiler tells, where that is less.
    assert table.rows[2][2:9] == ["200 ms", "25%", "50%", "25%", "50%", "-", "25%"]
    assert table.rows[2][9:] == [
        "26 GFLOP/s (26%)",
        "gemm:jit, jit",
        "82%",  # 7500 of 5000 + 64 x 64
        "97%",  # with 3 million more
        "ConvGradient 50%; Conv 25%; x 25%",
    ]
    page = markdown.text(markdown.built(used)["profiles"], "../../")
    assert "[%s, best †](../../profiles/machine/four.json)" % FOUR in page


def profile_result():
    """What a profile writes."""
    return {
        "schema": 1,
        "made": "2026-01-02T03:04:05Z",
        "machine": bench_result()["machine"],
        "framework": FOUR,
        "title": "Four",
        "lane": "best",
        "model": "cnn",
        "threads": 2,
        "batch_size": 128,
        "steps": 20,
        "matmul_flops": [0.9e11, 1.1e11],
        "multiply_adds": {"convolution forward": 5000000, "convolution backward": 10000000},
        "versions": {"framework": "1"},
        "settings": {"device": "cpu"},
        "source_sha256": "0" * 64,
        "seconds_per_step": 0.5,
        "passes": [0.5],
        "operations": {"ConvGradient": 0.1, "Conv": 0.05, "x": 0.05},
        "parts": {"convolution forward": 0.25, "convolution backward": 0.5, "other": 0.25},
    }


def bench_result():
    """What a bench of two contenders writes."""
    facts = dict(cpu="one", cores=2, physical_cores=2, memory_bytes=1, gpus=[], system="")
    one = dict(framework=ONE, lane="same", title="One", per_second=100, ratio=1)
    one.update(interval=[1, 1], verdict="baseline", within_runs=0, between_runs=0)
    one.update(seconds_per_step=[[1.0]], others=[0.0], share_of_matmul=0.5)
    two = dict(one, framework=TWO, lane="best", title="Two", per_second=101, ratio=1.01)
    for found in (one, two):
        path = Path(ROOT, "frameworks", found["framework"], "cnn.py")
        found["processes"] = [{"source_sha256": source.texts_sha256([path])}]
    two.update(interval=[0.99, 1.03], verdict="no difference shown")
    return {
        "schema": 1,
        "made": "2026-01-02T03:04:05Z",
        "machine": dict(facts, allocator={}),
        "versions": {ONE: "2"},
        "model": "cnn",
        "threads": 2,
        "batch_size": 128,
        "baseline": ONE + ":same",
        "runs": 1,
        "precision": 0.01,
        "precise": True,
        "matmul_flops": 1e11,
        "bandwidth": 1e10,
        "rounds": [{"matmul_flops": 1e11, "bandwidth": 1e10}],
        "contenders": {ONE + ":same": one, TWO + ":best": two},
    }


def test_the_committed_page_is_that_of_the_committed_results(results):
    used, _ = committed.read(results)
    page = (committed.HERE / "results.md").read_text(encoding="utf-8")
    made = markdown.text(markdown.results(used))
    assert page == made, "reports/results.md is out of date; run: tox run -e report"
    assert " †" not in page  # a mark would change with files that are no results


def test_a_bench_of_a_plain_script_says_that_it_is_not_proven(tmp_path):
    found = bench_result()
    one, two = found["contenders"].values()
    script = Path(ROOT, "frameworks", WITH_SCRIPT, "plain.py")
    key = WITH_SCRIPT + ":plain"
    plain = dict(one, framework=WITH_SCRIPT, lane="plain", verdict="faster")
    plain["processes"] = [{"source_sha256": source.texts_sha256([script])}]
    contenders = {key: plain, TWO + ":best": two}
    (table,) = measured_alone(tmp_path, dict(found, baseline=key, contenders=contenders))
    assert table.title == bench_tables.PLAIN_SCRIPTS
    said = "The lanes passed every rung. Nothing proves the scripts."
    assert dict(table.answers)["Proof"] == said
    assert [row[0][0] for row in table.rows] == [TWO + ", best", WITH_SCRIPT + ", plain"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of another project, of which this one is a part: one result is committed."""
    here = tmp_path / "part" / "reports"
    for file in ("machine/mine.json", "machine/theirs.json"):
        (here / "results" / file).parent.mkdir(parents=True, exist_ok=True)
        (here / "results" / file).write_text("{}")
    monkeypatch.setattr(committed, "HERE", here)
    subprocess.check_call(["git", "init", "-q"], cwd=str(tmp_path))
    subprocess.check_call(["git", "add", "results/machine/theirs.json"], cwd=str(here))
    return here


def committed_names():
    with committed.folder() as folder:
        return {path.name: path.read_text() for path in folder.glob("results/*/*.json")}


def test_a_users_own_results_are_no_committed_ones(repository, capsys):
    """Neither a file beside the committed ones nor what a run wrote over one of them."""
    (repository / "results" / "machine" / "theirs.json").write_text('{"a run": "of mine"}')
    assert committed_names() == {"theirs.json": "{}"}
    paths = ["results/machine/mine.json", "results/machine/theirs.json"]
    assert committed.uncommitted() == paths
    assert list(command.results(uncommitted_too=False)[1]) == paths[1:]
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["not committed: reports/%s (git add takes it in)" % path for path in paths]
    assert list(command.results(uncommitted_too=True)[1]) == paths


def test_git_add_takes_a_result_in(repository):
    subprocess.check_call(["git", "add", "results"], cwd=str(repository))
    assert sorted(committed_names()) == ["mine.json", "theirs.json"]
    assert committed.uncommitted() == []


def test_without_git_every_result_is_used_and_that_is_said(repository, capsys):
    shutil.rmtree(str(repository.parent.parent / ".git"))
    with pytest.raises(committed.NoGit):
        committed_names()
    assert len(command.results(uncommitted_too=False)[1]) == 2
    assert "no git repository: every result file" in capsys.readouterr().err


def test_the_originals_training_stands_beside_its_figures(good, monkeypatch):
    """Of its length and lane best alone, on its own data, and no time that was not proven."""
    monkeypatch.setattr(
        "reports.table.module_is_as_it_was", lambda result: result["lane"] == "best"
    )
    names = [row[4] for row in tables.original([]).rows if row[4] in frameworks.ENVIRONMENTS]
    one, two, three, four = names[:4]
    hp = dict(good["hyperparameters"], epochs=10)
    proven = dict(good, hyperparameters=hp, framework=one, lane="best")
    proven["dataset"] = dict(good["dataset"], train_images=50000)
    failed = json.loads(json.dumps(dict(proven, framework=two)))
    failed["certificate"]["rungs"][4]["passed"] = False
    others = [dict(proven, framework=three, lane="same"), dict(good, framework=four)]
    for key, value in (("dropout", [0, 0, 0]), ("seed", 3)):
        other = dict(proven, framework=three, hyperparameters=dict(hp, **{key: value}))
        others.append(other)
    others.append(dict(proven, framework=three, weights="mine.npz"))
    others.append(dict(proven, framework=three, settings=dict(good["settings"], workers=2)))
    made = dict(proven["dataset"], name="synthetic (no CIFAR-10 found)")
    others.append(dict(proven, framework=three, dataset=made))
    table = tables.original([entry(run) for run in [proven, failed] + others])
    cells_of = {row[4]: row[5:] for row in table.rows}
    seconds = "%.0f" % good["timings"]["train"]
    assert [cells_of[one][0], cells_of[one][2]] == [(seconds, "path"), "8 of 8 rungs"]
    assert [cells_of[two][0], cells_of[two][2]] == [("not proven", "path"), "7 of 8 rungs"]
    assert cells_of[three] == cells_of[four] == cells_of["-"] == ["-", "-", "-"]
    monkeypatch.setattr("reports.table.module_is_as_it_was", lambda result: False)
    (cells,) = [row[5:] for row in tables.original([entry(proven)]).rows if row[4] == one]
    assert cells[0] == (seconds + " †", "path")
    late = {"passed": False, "share_of_tolerance": 50, "steps": 9, "detail": "conv1.bias"}
    wrong = dict(proven, late_updates=late)
    (cells,) = [row[5:] for row in tables.original([entry(wrong)]).rows if row[4] == one]
    assert cells[0] == ("not proven †", "path")
    assert len(tables.original([]).columns) == 5


def entry(run):
    """A run as if it were committed."""
    return committed.Committed("path", "machine", run)


def study_result(good, **differences):
    """What a study of these {switch: (mean, interval)} writes."""
    found = {
        key: good[key]
        for key in ("framework", "title", "lane", "made", "versions", "machine", "settings")
    }
    found.update(dataset=good["dataset"], source_sha256=good["source_sha256"])
    hp = dict(good["hyperparameters"])
    del hp["seed"]
    found.update(schema=1, status="finished", threads=2, cpu="a CPU", hyperparameters=hp)
    found.update(sources_sha256="0" * 64, certificate={"passed": True, "identity": "0" * 64})
    found["measured"] = {"plain": {"0": {"accuracy": 0.4}, "1": {"accuracy": 0.41}}}
    found["plain"] = {"mean": 40.5, "interval": [34.1, 46.9], "standard_deviation": 0.7}
    found["residual"] = None
    found["differences"] = {
        key: {"mean": mean, "interval": interval, "points": [mean, mean], "verdict": "lower"}
        for key, (mean, interval) in differences.items()
    }
    return found


# Of the lessons, in their order.
WORDS = ("batches", "autotune", "NCHW", "dropout", "Winograd", "softmax", "Initialise", "unit gain")
WORDS += ("gradient", "ReLU")


def learnt(tmp_path, kind, result):
    """({a word of each lesson: its row}, what is left out) where this is the only file."""
    machine = tmp_path / kind / "machine"
    machine.mkdir(parents=True)
    (machine / "one.json").write_text(json.dumps(result))
    used, left_out = committed.read(tmp_path)
    table = tables.learnt(used)
    assert (table.figure is not None) == bool(used.studies)
    if table.figure:
        assert ">points of accuracy<" in table.figure().svg
    return {word: row for word, row in zip(WORDS, table.rows) if word in row[0]}, left_out


def test_what_a_study_found_stands_beside_what_was_published(tmp_path, good):
    """The verdict is that of the interval, whatever a file says."""
    found = study_result(
        good,
        batches_shuffled=(-0.5, [-1.2, 0.2]),
        not_shuffled=(-2.0, [-3.0, -1.0]),
        dropout_in_prediction=(2.0, [1.0, 3.0]),
        softmax_twice=(-9.0, [-18.0, 0.0]),
        unit_gain=(-9.0, [-10.0, -8.0]),
    )
    rows, left_out = learnt(tmp_path, "lessons", found)
    assert not left_out and list(rows) == list(WORDS)
    (text, path), _ = rows["batches"][2]
    assert path == "lessons/machine/one.json"
    assert text.endswith("whole batches shuffled -0.50 points (-1.20 to +0.20; 2 seeds)")
    length = "after {:,} × {}: ".format(
        found["dataset"]["train_images"], found["hyperparameters"]["epochs"]
    )
    assert rows["batches"][3] == length + "no difference shown: 1 of 2; held: 1 of 2"
    assert rows["softmax"][3] == length + "no difference shown"
    assert rows["dropout"][3] == length + "did not hold here"
    assert rows["unit gain"][3] == length + "held"
    assert rows["Initialise"][3] == "not measured yet"
    assert rows["autotune"][3] == rows["Winograd"][3] == "cannot be seen without a GPU"


def test_studies_of_two_machines_and_lanes_have_their_own_labels_and_links(good):
    found = study_result(good, unit_gain=(-9.0, [-10.0, -8.0]))
    two = [
        committed.Committed("lessons/%s/one.json" % machine, machine, dict(found, lane=lane))
        for machine, lane in (("here", "best"), ("there", "bf16"))
    ]
    table = tables.learnt(committed.Used([], [], [], two, []))
    (cell,) = [row[2] for row in table.rows if "unit gain" in row[0]]
    assert [path for _, path in cell] == [study.path for study in two]
    drawn = table.figure().svg
    for (text, _), lane, machine in zip(cell, ("best", "bf16"), ("here", "there")):
        label, _ = text.split(" -9.00")
        assert ", %s, " % lane in label and " on " + machine in label
        assert ">%s<" % label in drawn
    assert markdown.table(table).count("](lessons/") == 2


@pytest.mark.parametrize(
    "interval, verdict",
    [
        ([-0.9, 0.1], "held"),
        ([0.0, 1.0], "held"),
        ([-5.0, 5.0], "not decided: the interval is too wide"),
        ([-30.0, -0.99], "not decided: the interval is too wide"),
        ([-1.4, -0.6], "not decided: the interval is too wide"),
        ([-3.0, -1.5], "did not hold here"),  # more than the point that was published
        ([1.1, 2.0], "did not hold here"),
    ],
)
def test_a_scheme_that_moves_the_accuracy_by_a_point_at_most_is_held(
    tmp_path, good, interval, verdict
):
    found = study_result(good, he_normal=(sum(interval) / 2, interval))
    rows, _ = learnt(tmp_path, "lessons", found)
    assert verdict in rows["Initialise"][3]


def test_a_verdict_after_a_long_training_stands_beside_that_after_a_short_one(good):
    studies = []
    for images, low in ((10000, 1.5), (50000, -0.5)):
        found = study_result(good, he_normal=(low + 1, [low, low + 2]))
        found["dataset"] = dict(found["dataset"], train_images=images)
        found["hyperparameters"] = dict(found["hyperparameters"], epochs=3)
        studies.append(committed.Committed("lessons/%d.json" % images, "machine", found))
    (lesson,) = (one for one in lessons.LESSONS if one.switches == "initializers")
    findings = lessons.in_accuracy(lesson, studies, lambda study: "one")
    assert lessons.together(lesson, findings) == (
        "after 50,000 × 3: not decided: the interval is too wide. "
        "after 10,000 × 3: did not hold here"
    )


@pytest.mark.parametrize(
    "lever, interval, verdict",
    [
        ("pool_first", [1.01, 1.03], "held"),
        ("pool_first", [0.97, 1.01], "no difference shown"),
        ("pool_first", [0.90, 0.97], "did not hold here"),
        ("relu_first", [0.90, 0.97], "held"),  # measured when lane best had the opposite
        ("input_gradient", [0.90, 0.97], "held"),
        ("nchw", [0.90, 0.97], "cannot be seen without a GPU. On CPUs: slower"),
        ("nchw", [1.05, 1.10], "cannot be seen without a GPU. On CPUs: faster"),
    ],
)
def test_a_lesson_in_time_is_what_its_lever_gave(tmp_path, lever, interval, verdict):
    found = bench_result()
    one = found["contenders"].pop(ONE + ":same")
    two = dict(found["contenders"].pop(TWO + ":best"), interval=interval, ratio=interval[0])
    keys = [THREE + ":best", THREE + ":best+" + lever, ONE + ":best+" + lever]
    # The third has another baseline than its own lane, and so says nothing.
    found["contenders"] = dict(zip(keys, (one, two, two)))
    rows, left_out = learnt(tmp_path, "bench", dict(found, baseline=keys[0]))
    assert not left_out
    word = {
        "pool_first": "ReLU",
        "relu_first": "ReLU",
        "input_gradient": "gradient",
        "nchw": "NCHW",
    }[lever]
    ((text, path),) = rows[word][2]
    assert rows[word][3] == verdict and path == "bench/machine/one.json"
    assert text.startswith(THREE + ", best: ") and ONE not in text
    others = {row[3] for name, row in rows.items() if name not in (word, "NCHW")}
    assert others == {"not measured yet", "cannot be seen without a GPU"}


@pytest.mark.parametrize(
    "spoil, why",
    [
        (lambda found: dict(found, status="unfinished", error="3 are to be trained"), "3 are to"),
        (lambda found: dict(found, certificate={"passed": False, "identity": "0" * 64}), "True"),
        (lambda found: dict(found, schema=2), "schema version 2, not 1"),
    ],
)
def test_a_study_that_is_not_whole_or_not_proven_is_left_out(tmp_path, good, spoil, why):
    found = spoil(study_result(good, unit_gain=(-9.0, [-10.0, -8.0])))
    rows, left_out = learnt(tmp_path, "lessons", found)
    assert why in left_out["lessons/machine/one.json"]
    assert {row[3] for row in rows.values()} == {"not measured yet", "cannot be seen without a GPU"}


def test_the_latest_bench_of_a_lever_counts():
    one = dict(bench_result(), baseline=THREE + ":best")
    bench = []
    for made, ratio in (("2026-02-02T00:00:00Z", 1.1), ("2026-01-01T00:00:00Z", 0.9)):
        two = dict(one["contenders"][TWO + ":best"], ratio=ratio, interval=[ratio, ratio])
        found = dict(one, made=made, contenders={THREE + ":best+pool_first": two})
        bench.append(committed.Committed(made, "machine", found))
    lesson = lessons.LESSONS[-1]
    (finding,) = lessons.in_time(lesson, bench, lambda one, key: key)
    assert finding.path.startswith("2026-02") and finding.verdict == lessons.HELD
