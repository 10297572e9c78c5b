"""A record is valid until code, pins or facts change; CI proves everything again in ten runs."""

import json

import pytest

import frameworks
from common import networks
from common.proof import basis
from common.records import prove, records
from common.records.records import CERTIFICATE, DUE, FRESH, MISSING, MISTAKES, STALE, Proof
from common.system import commands, modules, source
from common.system.errors import InputError

NAME = next(
    name
    for name, facts in frameworks.ENVIRONMENTS.items()
    if facts.folder not in (name, frameworks.REFERENCE) and not facts.gpu
)
ENVIRONMENT = frameworks.ENVIRONMENTS[NAME]
MODULE = frameworks.path(ENVIRONMENT)


def hashes():
    return basis.own(NAME, "cnn", "same"), basis.shared("cnn"), basis.mistakes(NAME, "cnn")


def change(monkeypatch, path, edit):
    """Make ``path`` read as if it had been edited."""
    read = source.read
    assert edit(read(path)) != read(path)
    monkeypatch.setattr(
        source, "read", lambda other: edit(read(other)) if other == path else read(other)
    )


@pytest.mark.parametrize(
    "path",
    [MODULE, "common/proof/check.py", "frameworks/numpy/layers.py", "common/requirements.txt"],
)
def test_a_comment_costs_no_proof(monkeypatch, path):
    before = hashes()
    change(monkeypatch, path, lambda text: "# a comment\n" + text)
    assert hashes() == before


@pytest.mark.parametrize(
    "path, changed",
    [
        (MODULE, (True, False, False)),
        ("common/requirements.txt", (True, False, False)),
        ("common/proof/check.py", (False, True, False)),
        ("common/data/batches.py", (False, True, False)),
        ("frameworks/numpy/layers.py", (False, True, False)),
        ("common/networks/cnn/__init__.py", (False, True, False)),
        ("common/mistakes/gradient.py", (False, False, True)),
        ("common/networks/mlp.py", (False, False, False)),
        ("common/system/commands.py", (False, False, False)),
    ],
)
def test_a_change_of_code_costs_the_proofs_that_rest_on_it(monkeypatch, path, changed):
    before = hashes()
    edit = "x==1\n" if path.endswith(".txt") else "\nx = 1\n"
    change(monkeypatch, path, lambda text: text + edit)
    assert tuple(a != b for a, b in zip(before, hashes())) == changed


def test_a_proof_rests_on_the_variables_of_its_process(monkeypatch):
    before = hashes()
    other = ENVIRONMENT._replace(best_environ={"OMP_NUM_THREADS": "3"})
    monkeypatch.setitem(frameworks.ENVIRONMENTS, NAME, other)
    assert hashes()[0] != before[0]


@pytest.mark.parametrize("kind", [CERTIFICATE, MISTAKES])
def test_a_record_is_missing_fresh_due_or_stale(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(records.files, "ROOT", str(tmp_path))
    proof = Proof(kind, NAME, "cnn", "same")
    assert proof.state() == MISSING
    proof.write({"threads": 2, "losses": []}, proof.rests_on(), 1.23)
    assert proof.state() == FRESH and proof.read()["threads"] == 2
    for kind_of_code, state in [("shared", DUE), ("own", STALE)]:
        record = proof.read()
        record["rests_on"][kind_of_code] = "another"
        with open(proof.path, "w") as file:
            json.dump(record, file)
        assert proof.state() == state
    with open(proof.path, "w") as file:
        json.dump({"made": "before there were hashes"}, file)
    assert proof.state() == STALE
    with open(proof.path, "w") as file:
        file.write("{")
    assert proof.state() == MISSING


def options(**changes):
    return prove.Options([], [], False, False, False, False, None)._replace(**changes)


def test_no_proof_always_comes_last_in_ci(monkeypatch):
    """Each run has time for a few of them."""
    states, proven = {proof: FRESH for proof in records.proofs()}, set()
    for run in range(2 * len(states)):
        monkeypatch.setenv("GITHUB_RUN_NUMBER", str(run))
        proven.update(prove.chosen(options(ci=True), states)[:10])
    assert proven == set(states)


def test_the_last_commit_decides_where_there_is_no_number(monkeypatch):
    monkeypatch.delenv("GITHUB_RUN_NUMBER", raising=False)
    monkeypatch.setattr(prove.subprocess, "check_output", lambda *_, **__: b"0000000b" + b"0" * 32)
    assert prove.turn() == 11


def test_a_number_that_is_none_is_bad_input(monkeypatch):
    monkeypatch.setenv("GITHUB_RUN_NUMBER", "abc")
    with pytest.raises(InputError, match="GITHUB_RUN_NUMBER=abc is not a number"):
        prove.turn()


def test_an_environment_that_cannot_be_made_fails_the_command(monkeypatch):
    def make(names):
        raise InputError("no interpreter")

    assert run(monkeypatch, MISSING, True) == 0
    monkeypatch.setattr(prove.environments, "make", make)
    monkeypatch.setattr(prove, "make", None)
    assert prove.command([]) == 1


@pytest.mark.parametrize("kind, state", [(CERTIFICATE, FRESH), (MISTAKES, DUE)])
def test_changed_mistakes_make_their_own_records_due(kind, state, monkeypatch, tmp_path):
    proof = Proof(kind, NAME, "cnn", "same")
    monkeypatch.setattr(Proof, "made_on", lambda self, device: str(tmp_path / "record.json"))
    proof.write({}, proof.rests_on(), 1)
    change(monkeypatch, "common/mistakes/gradient.py", lambda text: text + "x = 1\n")
    assert proof.state() == state


def test_certificates_without_a_record_come_first(monkeypatch):
    monkeypatch.setenv("GITHUB_RUN_NUMBER", "1")
    states = {proof: FRESH for proof in records.proofs()}
    lacking = [proof for proof in states if proof.kind == CERTIFICATE][-2:]
    states.update(zip(lacking, (MISSING, STALE)))
    assert prove.chosen(options(ci=True), states)[:2] == lacking
    first = next(proof for proof in states if proof not in lacking)
    states[first] = DUE
    assert prove.chosen(options(), states) == lacking + [first]
    assert prove.chosen(options(all=True), states) == list(states)


def run(monkeypatch, state, passed, *arguments):
    proof = Proof(CERTIFICATE, NAME, "cnn", "same")
    monkeypatch.setattr(prove, "proofs", lambda names, networks: [proof])
    monkeypatch.setattr(records.Proof, "state", lambda proof: state)
    monkeypatch.setattr(prove.environments, "make", lambda names: None)
    monkeypatch.setattr(prove, "make", lambda proof: passed)
    return prove.command(list(arguments))


@pytest.mark.parametrize("state, code", [(FRESH, 0), (DUE, 0), (STALE, 1), (MISSING, 1)])
def test_check_fails_without_a_record(monkeypatch, state, code):
    assert run(monkeypatch, state, True, "--check") == code


def test_an_environment_that_cannot_be_made_does_not_end_the_others(monkeypatch, capsys):
    def make(names):
        if names == ["a"]:
            raise InputError("a: no interpreter")

    monkeypatch.setattr(prove.environments, "make", make)
    assert prove.unmade(["a", "b"]) == ["a"]
    assert capsys.readouterr().out == "left out   a: no interpreter\n"


def test_a_record_does_not_outlive_a_failure(monkeypatch, tmp_path):
    proof = Proof(CERTIFICATE, NAME, "cnn", "same")
    monkeypatch.setattr(Proof, "made_on", lambda self, device: str(tmp_path / "record.json"))
    proof.doubt()  # without a record
    assert proof.state() == MISSING
    proof.write({}, proof.rests_on(), 1)
    assert proof.state() == FRESH
    monkeypatch.setattr(prove.environments, "inside", lambda *_: ["false"])
    assert not prove.make(proof) and proof.state() == STALE


@pytest.mark.parametrize("options", [["--all", "--ci"], ["--check", "--all"]])
def test_options_that_contradict_are_bad_input(options, capsys):
    assert commands.guarded(prove.command, options) == 2
    assert "not allowed with argument" in capsys.readouterr().err


def test_outside_a_clone_no_commit_decides(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("GITHUB_RUN_NUMBER", raising=False)
    monkeypatch.setattr(prove, "ROOT", str(tmp_path))
    with pytest.raises(InputError, match="here is no git clone"):
        prove.turn()


def test_nothing_to_prove_is_bad_input(capsys):
    name, model = next(
        (name, model)
        for name in frameworks.ENVIRONMENTS
        for model in networks.MODELS
        if not modules.has(name, model)
    )
    assert commands.guarded(prove.command, [name, "--model", model, "--check"]) == 2
    assert "none of these environments has one of these networks" in capsys.readouterr().err


def test_a_proof_that_fails_fails_the_command(monkeypatch):
    assert run(monkeypatch, STALE, True) == 0
    assert run(monkeypatch, STALE, False) == 1


@pytest.mark.parametrize("state, valid", [(FRESH, 1), (DUE, 1), (STALE, 0), (MISSING, 0)])
def test_without_time_no_proof_is_begun_and_a_missing_record_is_named(
    monkeypatch, capsys, state, valid
):
    clock = iter([0, 1e9])
    monkeypatch.setattr(prove.time, "perf_counter", lambda: next(clock))
    assert run(monkeypatch, state, True, "--ci", "--minutes", "1") == 0
    output = capsys.readouterr().out
    assert "1 left for lack of time" in output and ("has no valid record" in output) != valid
