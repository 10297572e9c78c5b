"""The figures in the manual are those of the committed files that it names."""

import json
import re

import pytest

from common.profiles import kernels
from common.system.files import ROOT
from reports import committed, tables

# The manual's columns, and the report's, which may have been rounded once already.
TRAINED = {
    "training": "training",
    "accuracy (95%)": "accuracy (95% interval)",
    "images/s": "images/s",
    "of the matrix product": "of matrix product",
}
TIMED = {
    "images/s": "images/s",
    "to `numpy` (95%)": "ratio of speed (95%)",
    "of the matrix product": "of matrix product",
}


def page(name):
    """The text of a page of the manual."""
    with open("%s/docs/%s.md" % (ROOT, name), encoding="utf-8") as file:
        return file.read()


def results_section():
    """The benchmark page's results: (its text, its tables as lists of {column: cell})."""
    text = page("benchmark").split("\n## Results\n")[1]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.strip("|\n ").split("|")] for line in block.splitlines()
        ]
        found.append([dict(zip(head, row)) for row in rows])
    return text, found


@pytest.fixture(scope="module")
def reported(results):
    """{(what is called so, its file): {column: text}} of the tables of runs and of benches."""
    used, _ = committed.read(results)
    found = {}
    for table in tables.every(used):
        names = [column.strip() for column in table.columns]
        for row in table.rows:
            if isinstance(row[0], tuple):
                texts = [cell[0] if isinstance(cell, tuple) else cell for cell in row]
                label, path = row[0]
                found[label.replace(" †", ""), path] = dict(zip(names, texts))
    return found


def agree(short, long):
    """Whether each number of ``short`` is that of ``long``, to its own last digit."""
    ours, theirs = (re.findall(r"\d[\d,]*(?:\.\d+)?", text) for text in (short, long))
    return len(ours) == len(theirs) and all(
        abs(float(a.replace(",", "")) - float(b.replace(",", "")))
        <= 0.51 * 10.0 ** -len(a.partition(".")[2])
        for a, b in zip(ours, theirs)
    )


@pytest.mark.parametrize(
    "short, long, same",
    [
        ("1.09 (1.03–1.11)", "1.089 (1.032–1.115)", True),
        ("1.09 (1.03–1.12)", "1.089 (1.032–1.115)", True),
        ("1.09 (1.03–1.13)", "1.089 (1.032–1.115)", False),
        ("740 s", "740 s", True),
        ("741 s", "740 s", False),
        ("0.62", "0.620 (0.553–0.695)", False),
    ],
)
def test_figures_agree_to_the_last_digit_that_is_given(short, long, same):
    assert agree(short, long) == same


def test_the_trainings_are_those_of_the_files_that_they_link(reported):
    *tables, on_gpus = [table for table in results_section()[1] if "training" in table[0]]
    on_cpus = sum(tables, [])
    assert len(on_cpus) >= 8 and len(on_gpus) >= 3
    for row in on_cpus + on_gpus:
        text, path = re.match(r"\[(.*)\]\(\.\./reports/(.*)\)$", row["training"]).groups()
        environment, _, seed = row["environment"].partition(", ")
        theirs = reported[environment + ", best", path]
        length = theirs["images × epochs"].split(", ")
        assert [part for part in length if part.startswith("seed ")] == [seed] * bool(seed), path
        row["training"] = text
        for ours, column in TRAINED.items():
            if ours == "of the matrix product" and ours not in row:
                continue  # it is the CPU's, and says little if it was measured only once
            assert agree(row[ours], theirs[column]), (row["environment"], ours, theirs[column])


def linked_benches(text):
    """The files of the benches that a text links, in its order."""
    return re.findall(r"\]\(\.\./reports/(bench/[^)]*)\)", text)


def of_file(reported, linked):
    """{what is called so: its columns} of a result file's rows in the report."""
    return {label: columns for (label, path), columns in reported.items() if path == linked}


def check_times(row, columns):
    """A row of the manual's table of a bench has the figures of the report's."""
    for ours, column in TIMED.items():
        if row[ours] == "1":
            assert columns[column] == "1.000 (1.000–1.000)"
        else:
            assert agree(row[ours], columns[column]), (row["environment"], ours, columns[column])


def test_the_bench_of_lane_same_is_the_one_that_is_linked(reported):
    text, found = results_section()
    to_best = "to `pytorch`, lane `best` (95%)"
    (rows,) = [table for table in found if to_best in table[0]]
    timed = of_file(reported, linked_benches(text)[1])
    names = {row["environment"] + ", same" for row in rows}
    assert names | {"pytorch, best"} == set(timed)
    for row in rows:
        renamed = {"to `numpy` (95%)": row[to_best]}
        check_times(dict(row, **renamed), timed[row["environment"] + ", same"])


def test_the_bench_of_all_is_the_one_that_is_linked(reported):
    text, found = results_section()
    rows = next(table for table in found if "to `numpy` (95%)" in table[0])
    timed = of_file(reported, linked_benches(text)[0])
    same = timed.pop("pytorch, same")["ratio of speed (95%)"]
    assert agree(re.search(r"(0\.\d+ \(.*?\)) times as\sfast", text).group(1), same)
    assert {row["environment"] + ", best" for row in rows} == set(timed)
    for row in rows:
        check_times(row, timed[row["environment"] + ", best"])


def test_the_bench_of_plain_scripts_is_the_one_that_is_linked(reported):
    section = page("benchmark").split("\n## A tutorial's script\n")[1].split("\n## ")[0]
    timed = of_file(reported, linked_benches(section)[0])
    row = r"^\| ([a-z0-9-]+) \| (\d+) \| (\d+) \| ([0-9.]+) \([0-9.]+–[0-9.]+\) \|$"
    rows = re.findall(row, section, re.MULTILINE)
    assert {"%s, %s" % (name, lane) for name, *_ in rows for lane in ("plain", "best")} == set(
        timed
    )
    for name, plain, best, gain in rows:
        script, lane = timed[name + ", plain"], timed[name + ", best"]
        assert agree(plain, script["images/s"]) and agree(best, lane["images/s"]), name
        ratios = [float(each["ratio of speed (95%)"].split()[0]) for each in (lane, script)]
        assert float(gain) == pytest.approx(ratios[0] / ratios[1], rel=0.06), name  # of medians


def test_the_bench_of_gpt_and_llama_is_the_one_that_is_linked(reported):
    text, found = results_section()
    (rows,) = [table for table in found if "GPT, sequences/s" in table[0]]
    linked = dict(re.findall(r"\[(GPT|Llama)\]\(\.\./reports/(bench/[^)]*)\)", text))
    assert len(linked) == 2
    for name, path in linked.items():
        timed = of_file(reported, path)
        assert {row["environment"] + ", best" for row in rows} == set(timed)
        for row in rows:
            columns = timed[row["environment"] + ", best"]
            assert agree(row[name + ", sequences/s"], columns["sequences/s"]), row
            ours, theirs = row[name + " to `pytorch` (95%)"], columns["ratio of speed (95%)"]
            assert agree(ours, theirs) or (ours, theirs) == ("1", "1.000 (1.000–1.000)"), row


def test_what_bounds_a_cpu_is_what_the_profiles_say(results):
    text = " ".join(page("performance-notes").split())

    def profile(name):
        folder = results / "profiles" / "amd-epyc-25.17-avx512.bf16-2-cores"
        return json.loads((folder / ("cnn-%s-best.json" % name)).read_text())

    last = profile("pytorch"), profile("tensorflow"), profile("keras"), profile("keras-torch")
    blocked = profile("caffe2"), profile("tensorflow1")
    for those, said in (
        (last, "84% of the convolutions' arithmetic"),
        (blocked, "also pads the input channels, so only 69% is"),
    ):
        assert said in text, said
        for found in those:
            share = re.search(r"\d+%", said).group()
            assert "%.0f%%" % (100 * kernels.own_share(found["kernels"])) == share, found["title"]
    for name in ("mxnet", "mxnet-module", "chainer"):
        assert {"gemm" in one["kernel"] for one in profile(name)["kernels"]} == {True}, name
    found = profile("cntk")["parts"]
    ratio = found["convolution backward"] / found["convolution forward"]
    assert "[%.1f times as long]" % ratio in text


@pytest.mark.parametrize("path", ["reports/README.md", "reports/templates/results.html.j2"])
def test_how_to_add_a_result_begins_outside_the_folder_that_git_ignores(path):
    with open("%s/%s" % (ROOT, path), encoding="utf-8") as file:
        text = file.read()
    assert text.index("ROSETTA_REPORTS=reports") < text.index("git add")
