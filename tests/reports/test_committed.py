"""Result files that are old, foreign or broken are named and left out; the others are shown."""

import json
import shutil

import pytest

from reports import committed, markdown, tables

USED, LEFT_OUT = committed.read()


@pytest.fixture
def folder(tmp_path):
    """A results folder with one good file in it, to spoil."""
    source = committed.HERE / USED[0].path
    machine = tmp_path / "results" / "machine"
    machine.mkdir(parents=True)
    shutil.copy(source, machine / "good.json")
    return machine


def test_every_committed_result_is_used():
    assert LEFT_OUT == {}
    assert USED


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
        (stopped, "of a run that stopped: NaN"),
    ],
)
def test_a_spoilt_file_is_named_and_left_out(folder, spoil, why):
    text = (folder / "good.json").read_text()
    (folder / "spoilt.json").write_text(spoil(text))
    used, left_out = committed.read(folder.parent)
    assert [one.path for one in used] == ["results/machine/good.json"]
    assert list(left_out) == ["results/machine/spoilt.json"]
    assert why in left_out["results/machine/spoilt.json"]


def test_markup_in_a_file_is_shown_as_text(folder):
    result = json.loads((folder / "good.json").read_text())
    result["machine"]["cpu"] = result["title"] = "<script>alert(1)</script>|"
    (folder / "good.json").write_text(json.dumps(result))
    used, _ = committed.read(folder.parent)
    assert "<script>" not in markdown.page(used)


def test_no_time_without_a_passed_certificate(folder):
    result = json.loads((folder / "good.json").read_text())
    result["certificate"]["passed"] = False
    used = [committed.Committed("results/machine/good.json", "machine", result)]
    (row,) = tables.results(used, "machine").rows
    assert row[3:8] == ["not proven", "-", "-", "-", "-"]


def test_the_committed_page_is_that_of_the_committed_results():
    """Run ``tox run -e report`` after a new result."""
    assert (committed.HERE / "README.md").read_text(encoding="utf-8") == markdown.page(USED)
