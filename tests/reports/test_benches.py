"""Which bench answers which question, and what the answer says."""

import json
import re

import pytest

import frameworks
from common.bench import contenders
from reports import bench_tables, committed, figures, markdown, studies, tables
from tests.reports.test_committed import (
    ONE,
    THREE,
    TWO,
    bench_result,
    measured_alone,
    profile_result,
    with_levers,
)
from tests.some import WITH_SCRIPT

WIDE = [0.001, 30]  # an interval that says nothing


def timed(key, ratio, interval=None):
    """A contender that is so many times as fast as the baseline."""
    two = bench_result()["contenders"][TWO + ":best"]
    found = contenders.read(key)
    named = dict(two, framework=found.name, lane=found.lane, ratio=ratio, per_second=100 * ratio)
    interval = interval or [0.99 * ratio, 1.01 * ratio]
    return dict(named, interval=interval, seconds_per_step=[[1 / ratio]])


def bench(ratios, day=1, **facts):
    """A bench of {contender: its ratio}; the first is the baseline."""
    found = {key: timed(key, ratio) for key, ratio in ratios.items()}
    made = "2026-01-%02dT03:04:05Z" % day
    facts = dict(facts, made=made, contenders=found, baseline=next(iter(ratios)))
    result = dict(bench_result(), **facts)
    return committed.Committed("bench/machine/%d.json" % day, "machine", result)


def used(*benches):
    return committed.Used([], list(benches), [], [], [])


def shown(bench):
    """A bench's table, without marks of modules that have changed."""
    return markdown.unmarked(bench_tables.compared(bench))


def days(benches):
    return [int(re.search(r"\d+", bench.path).group()) for bench in benches]


BEST = {ONE + ":best": 1.0, TWO + ":best": 2.0, THREE + ":best": 1.5, ONE + ":same": 0.5}
SAME = {ONE + ":best": 1.0, TWO + ":same": 0.9, THREE + ":same": 0.8}


def test_a_bench_of_another_lane_takes_no_place_and_its_yardstick_does_not_compete():
    benches = [bench(BEST), bench(SAME, day=2)]
    newest, others = bench_tables.newest(benches)
    assert sorted(days(newest)) == [1, 2] and others == []
    titles = [page.title for page in markdown.results(used(*benches)).parts]
    question = "Which framework trains the CNN fastest in lane %s on machine?"
    assert titles == [question % "best", question % "same"]
    answer, _ = dict(shown(benches[1]).answers).values()
    assert answer == (
        "{0}, same is the fastest in this one run: its interval overlaps with no other. "
        "{0}, same has 0.90 times (0.89–0.91) the speed of {1}, best."
    ).format(TWO, ONE)


def test_no_contender_of_the_lane_may_be_judged():
    unknown = bench(SAME)
    for key in (TWO + ":same", THREE + ":same"):
        unknown.result["contenders"][key] = timed(key, 0.9, WIDE)
    answer = dict(shown(unknown).answers)["Answer"]
    said = "Not judged, because their runs differ too much: %s, same; %s, same."
    assert answer == said % (TWO, THREE)


def test_benches_with_other_threads_answer_questions_of_their_own():
    two = [bench(BEST), bench(BEST, day=2, threads=1)]
    newest, others = bench_tables.newest(two)
    assert days(newest) == [2, 1] and others == []
    question = "Which framework trains the CNN fastest in lane best with 1 thread?"
    assert shown(two[1]).title == question


@pytest.mark.parametrize(
    "earlier, later, first, second",
    [
        ("ab", "ab", [2], [1]),
        ("ab", "abc", [2], [1]),
        ("ab", "bc", [2, 1], []),
        ("abc", "ab", [1], [2]),  # a later one of a part
    ],
)
def test_a_bench_replaces_another_one_if_it_has_all_of_its_contenders(
    earlier, later, first, second
):
    names = dict(zip("abc", (ONE, TWO, THREE)))
    two = [
        bench({names[letter] + ":best": 1.0 for letter in letters}, day=day)
        for day, letters in enumerate((earlier, later), 1)
    ]
    newest, others = bench_tables.newest(two)
    assert (days(newest), days(others)) == (first, second)
    assert len(markdown.results(used(*two)).parts) == len(first)


def test_a_bench_of_several_lanes_names_none():
    assert shown(bench({ONE + ":same": 1.0, ONE + ":best": 2.0})).title == (
        "Which framework trains the CNN fastest?"
    )


@pytest.mark.parametrize(
    "ratios, title, answer",
    [
        (
            {ONE + ":best": 1.0, ONE + ":bf16": 1.5},
            "Is bfloat16 faster than float32?",
            "Lane bf16, relative to lane best of the same framework. "
            "Faster: %s 1.50 (1.50–1.50)." % ONE,
        ),
        (
            {WITH_SCRIPT + ":plain": 1.0, WITH_SCRIPT + ":best": 1.74, ONE + ":bf16": 2.0},
            bench_tables.PLAIN_SCRIPTS,
            "Lane best is 1.74 times as fast as a script of the same framework.",
        ),
        (
            {WITH_SCRIPT + ":plain": 1.0, ONE + ":bf16": 2.0},
            bench_tables.PLAIN_SCRIPTS,
            None,
        ),
        (
            {TWO + ":bf16": 1.0, ONE + ":bf16": 1.5},
            "Which framework trains the CNN fastest in lane bf16?",
            "{0}, bf16 is the fastest in this one run: its interval overlaps with no other. "
            "{0}, bf16 has 1.50 times (1.48–1.52) the speed of {1}, bf16.".format(ONE, TWO),
        ),
    ],
)
def test_the_answer_is_that_of_the_question(ratios, title, answer):
    table = shown(bench(ratios, bfloat16_flops=1e11))
    assert table.title == title and dict(table.answers).get("Answer") == answer


def test_a_bench_that_answers_no_question_is_among_the_others():
    """Workers without one process of all their threads, and a contender with fewer threads."""
    alone = bench({ONE + ":best/1@16": 1.0, ONE + ":best/2x1@16": 1.5})
    fewer = bench({ONE + ":best": 1.0, TWO + ":best/1": 0.5}, day=2)
    assert bench_tables.newest([alone, fewer]) == ([], [fewer, alone])
    for each in (alone, fewer):
        (table,) = tables.measured(used(each), "machine")
        assert table.title == "How fast is each contender?"
        assert "unless a contender's name gives others" in table.note
        assert dict(table.answers) == {"Proof": bench_tables.BELIEVE % 2}


def test_workers_of_each_lane_and_of_several_threads_have_their_own_lines():
    lanes = {"best": 1.0, "best/2": 0.6, "best/2x2": 1.2}
    lanes.update({"same": 0.9, "same/2": 0.5, "same/2x2": 0.8, "same/2x1": 0.4})
    ratios = {"%s:%s" % (TWO, lane): ratio for lane, ratio in lanes.items()}
    facts = dict(bench_result()["machine"], cores=4)
    (table,) = bench_tables.questions(used(bench(ratios, threads=4, machine=facts)), "machine")
    assert table.columns[4:7] == [
        "one process, same threads, /s ",
        "one process, all threads, /s ",
        "workers, /s ",
    ]
    # For two workers of one thread, one process of two threads is there, one of one is not.
    rows = [[row[0][0].replace(" †", "")] + row[4:7] for row in table.rows]
    assert rows == [
        [TWO + ", best/2x2", "60", "100", "120"],
        [TWO + ", same/2x2", "50", "90", "80"],
    ]
    answer = dict(table.answers)["Answer"]
    assert TWO + ", best/2x2, cnn: faster with batches of 128" in answer
    assert TWO + ", same/2x2, cnn: slower with batches of 128" in answer
    drawn = table.figure().svg
    assert all(">%s, %s/2x2, cnn<" % (TWO, lane) in drawn for lane in ("best", "same"))


def test_a_lever_is_relative_to_lane_best_without_it():
    rows = [[(ONE, ""), "a lever that is kept", "64", "1.200 (1.100–1.300)", "faster", "yes"]]
    assert bench_tables._gained(rows) == (
        "A step of %s with batches of 64, in lane best with each of these relative to lane best "
        "without it: a lever that is kept: faster, 1.200 times as fast" % ONE
    )


def test_levers_that_were_not_proven_are_rows_without_a_figure(tmp_path):
    name, lever, _ = with_levers()
    other = ONE if name != ONE else TWO
    found = bench({name + ":best": 1.0, other + ":best": 1.0}).result
    failed = {"%s:best+%s" % (name, lever): "gradient"}
    *_, table = measured_alone(tmp_path, dict(found, not_proven=failed))
    ((*_, verdict, _),) = table.rows
    assert verdict == "not proven: gradient" and table.figure is None


EVERY = [*studies.LEVERS.values(), *studies.STEP.values(), studies.SHARED]


@pytest.mark.parametrize("study", EVERY)
def test_a_study_is_shown_where_its_environments_are_and_has_no_fixed_verdicts(study):
    names = set(study.of.split())
    assert names and names <= set(frameworks.ENVIRONMENTS)
    assert studies.about(study, names | {ONE}) == study
    lacking = studies.about(study, names - {study.of.split()[0]})
    assert (lacking.question, lacking.published, lacking.why) == ("", "", "")
    fixed = study.known + study.why
    assert not re.search("faster|slower|as fast|as long|slow |win |costs|saves", fixed), fixed


def test_the_steps_of_other_frameworks_do_not_answer_a_study():
    fit = {"batch_sizes": [8, 16], "seconds_per_step": [0.1, 1.0], "largest_error": 0.0}
    fit.update(peak_memory_bytes=[1, 2], overhead_per_step=0.1, seconds_per_image=0.1)
    others = [name for name in (ONE, TWO, THREE) if name not in studies.STEP["pose"].of.split()]
    sized = {"%s:best@%d" % (name, size): 1.0 for name in others for size in (8, 16)}
    scaling = {name + ":best": fit for name in others}
    (table,) = bench_tables.questions(used(bench(sized, model="pose", scaling=scaling)), "machine")
    assert table.title.startswith("What does a step cost") and table.answers == ()


@pytest.mark.parametrize("lanes", [[], ["bf16"], ["tf32", "bf16"]])
def test_runs_that_are_rounded_have_no_distance_from_float64(lanes):
    runs = []
    for lane in lanes:
        result = dict(profile_result(), lane=lane, dataset={"train_images": 1})
        result["hyperparameters"] = {"epochs": 1}
        runs.append(committed.Committed("path", "machine", result))
    assert figures.divergence(runs) is None


@pytest.fixture
def sweep():
    """A sweep of two contenders."""
    training = {"accuracy": 0.9, "last_loss": 0.1, "seconds": 1.0, "cpu": "A CPU"}
    training.update(certificate="0" * 64, source_sha256="0" * 64)
    names = [ONE + ":best", TWO + ":best"]
    pair = dict(first=names[0], second=names[1], points=[0.0], mean=0.0, interval=[-0.1, 0.1])
    pair.update(p={}, p_corrected={}, verdict="equivalent")
    return {
        "schema": 1,
        "status": "finished",
        "made": "2026-01-02T03:04:05Z",
        "model": "cnn",
        "train_images": 64,
        "epochs": 1,
        "test_images": None,
        "margin": 1.0,
        "dataset": {"name": "cifar10", "sha256": "0" * 64},
        "rests_on": {},
        "measured": {name: {"0": training} for name in names},
        "pairs": [pair],
    }


def read_alone(folder, sweep):
    """(the tables of a machine with this sweep alone, the reasons to leave it out)."""
    machine = folder / "sweeps" / "machine"
    machine.mkdir(parents=True)
    (machine / "one.json").write_text(json.dumps(sweep))
    found, left_out = committed.read(folder)
    return tables.questions(found, "machine"), list(left_out.values())


def test_a_sweep_says_where_its_figures_come_from(tmp_path, sweep):
    (table,), left_out = read_alone(tmp_path, sweep)
    assert left_out == [] and table.note.startswith("machine, 2026-01-02 (A CPU). ")
    ((first, *_),) = table.rows
    assert first == (ONE + ":best †", "sweeps/machine/one.json")
    assert table.answers == [("Answer", "The pair: equivalent.")]


@pytest.mark.parametrize("field", ["dataset", "source_sha256", "measured"])
def test_a_sweep_that_lacks_something_is_left_out(tmp_path, sweep, field):
    if field == "dataset":
        sweep[field] = None
    elif field == "measured":
        sweep[field][ONE + ":best"] = {}
    else:
        del sweep["measured"][ONE + ":best"]["0"][field]
    shown, (why,) = read_alone(tmp_path, sweep)
    assert shown == [] and why.startswith("not a result: ")
