"""Result files that are old, foreign or broken are named and left out; the others are shown."""

import json
import shutil
import subprocess

import pytest

from common.given.models import CNN
from reports import __main__ as command
from reports import committed, markdown, tables


@pytest.fixture
def folder(tmp_path, results):
    """A results folder with one good file in it, to spoil."""
    source = results.parent / committed.read(results)[0][0].path
    machine = tmp_path / "results" / "machine"
    machine.mkdir(parents=True)
    shutil.copy(source, machine / "good.json")
    return machine


def test_every_committed_result_is_used(results):
    used, left_out = committed.read(results)
    assert used and left_out == {}


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


def test_markup_in_a_file_is_shown_as_text(folder, phrase_book):
    result = json.loads((folder / "good.json").read_text())
    result["machine"]["cpu"] = result["title"] = "<script>alert(1)</script>|"
    (folder / "good.json").write_text(json.dumps(result))
    used, _ = committed.read(folder.parent)
    assert "<script>" not in markdown.page(used)


def test_no_time_without_a_passed_certificate(folder):
    result = json.loads((folder / "good.json").read_text())
    result["certificate"]["passed"] = False
    used = [committed.Committed("results/machine/good.json", "machine", result)]
    (row,) = tables.results(used, "machine", CNN).rows
    assert row[3:8] == ["not proven", "-", "-", "-", "-"]


def test_the_committed_page_is_that_of_the_committed_results(results, phrase_book):
    used, _ = committed.read(results)
    page = (committed.HERE / "README.md").read_text(encoding="utf-8")
    # Results, the registry or the modules' lines have changed since it was made.
    assert page == markdown.page(used), "reports/README.md is out of date; run: tox run -e report"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of another project, of which this one is a part: one result is committed."""
    here = tmp_path / "part" / "reports"
    for file in ("machine/mine.json", "machine/theirs.json"):
        (here / "results" / file).parent.mkdir(parents=True, exist_ok=True)
        (here / "results" / file).write_text("{}")
    monkeypatch.setattr(committed, "HERE", here)
    monkeypatch.setattr(committed, "RESULTS", here / "results")
    subprocess.check_call(["git", "init", "-q"], cwd=str(tmp_path))
    subprocess.check_call(["git", "add", "results/machine/theirs.json"], cwd=str(here))
    return here


def committed_names():
    with committed.folder() as folder:
        return {path.name: path.read_text() for path in folder.glob("*/*.json")}


def test_a_users_own_results_are_no_committed_ones(repository, capsys):
    """Neither a file beside the committed ones nor what a run wrote over one of them."""
    (repository / "results" / "machine" / "theirs.json").write_text('{"a run": "of mine"}')
    assert committed_names() == {"theirs.json": "{}"}
    paths = ["results/machine/mine.json", "results/machine/theirs.json"]
    assert committed.uncommitted() == paths
    assert list(command.results(as_they_lie=False)[1]) == paths[1:]
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["not committed: %s (git add takes it in)" % path for path in paths]
    assert list(command.results(as_they_lie=True)[1]) == paths


def test_git_add_takes_a_result_in(repository):
    subprocess.check_call(["git", "add", "results"], cwd=str(repository))
    assert sorted(committed_names()) == ["mine.json", "theirs.json"]
    assert committed.uncommitted() == []


def test_without_git_every_result_is_used_and_that_is_said(repository, capsys):
    shutil.rmtree(str(repository.parent.parent / ".git"))
    with pytest.raises(committed.NoGit):
        committed_names()
    assert len(command.results(as_they_lie=False)[1]) == 2
    assert "no git repository: every file" in capsys.readouterr().err
