"""The facts, the pins and the modules fit together."""

import os
import re
import subprocess
import sys

import pytest

import frameworks
from common.proof import contract
from common.system import debian, modules
from common.system.errors import InputError
from common.system.files import ROOT

FRAMEWORKS = list(frameworks.ENVIRONMENTS.values())


def requirements(framework):
    """The path of an environment's pins."""
    return os.path.join(ROOT, "frameworks", framework.folder, framework.requirements)


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_requirements_are_exact_pins(framework):
    with open(requirements(framework)) as file:
        lines = [line.split("#")[0].strip() for line in file]
    pins = [line for line in lines if line]
    assert pins and all(re.match(r"[\w.-]+(\[[\w-]+\])?==[\w.]+(;.*)?$", pin) for pin in pins)


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_requirements_name_the_interpreter_and_the_system_packages(framework):
    with open(requirements(framework)) as file:
        first = file.readline()
    assert "Python %s" % framework.python in first
    assert all(package in first for package in framework.system)
    assert framework.system or "Debian" not in first


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Debian's packages")
def test_missing_system_packages_are_found_by_their_program_or_library():
    system = {"coreutils": "ls", "libc6": "libc.so.6", "no-tool": "nil-nil", "no-lib": "libnil.so"}
    assert sorted(debian.missing(system)) == ["no-lib", "no-tool"]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_the_module_is_in_its_folder(framework):
    assert os.path.isfile(os.path.join(ROOT, frameworks.path(framework)))


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_a_recorder_takes_the_network_or_the_model(framework):
    path = frameworks.path(framework, "record")
    if not modules.has(framework.name, "record"):
        pytest.skip("not there yet: " + path)
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        made = r"^def record\((network|model), x\):$|^from frameworks.\w+.record import .*\brecord$"
        assert re.search(made, file.read(), re.MULTILINE), path


@pytest.mark.parametrize("name", [facts.name for facts in FRAMEWORKS if facts.gpu])
def test_a_gpu_variant_runs_the_same_module_with_pins_of_its_own(name):
    """``for_gpu`` leads a user whose GPU is not used to this environment."""
    (plain,) = [facts for facts in FRAMEWORKS if frameworks.for_gpu(facts.name) == name]
    variant = frameworks.ENVIRONMENTS[name]
    assert not plain.gpu and frameworks.path(plain) == frameworks.path(variant)
    assert requirements(plain) != requirements(variant)


def rows(document):
    """The rows of a document's tables that begin with names in backticks: [cells]."""
    with open(os.path.join(ROOT, document), encoding="utf-8") as file:
        return [line.split("|")[1:-1] for line in file if line.startswith("| `")]


def test_readme_s_rows_of_environments_agree_with_the_facts():
    """A row names environments, their interpreters and their module."""
    table = [row for row in rows("README.md") if "](frameworks/" in "".join(row)]
    assert table
    for names, _, python, path, *_ in table:
        for name in re.findall(r"`([\w-]+)`", names):
            environment = frameworks.ENVIRONMENTS[name]
            assert environment.python in python and frameworks.path(environment) in path, name


def test_unknown_framework_is_refused_with_the_known_ones():
    known = ", ".join(frameworks.ENVIRONMENTS)
    with pytest.raises(InputError, match="unknown framework 'none'; known: %s$" % known):
        modules.load("none")


def test_a_framework_that_is_not_installed_says_how_it_is_run(monkeypatch):
    environment = next(facts for facts in FRAMEWORKS if facts.package != "numpy")
    for variable in environment.environ:
        monkeypatch.setenv(variable, "")  # restored afterwards
    monkeypatch.setitem(sys.modules, "frameworks.%s.cnn" % environment.folder, None)
    with pytest.raises(InputError, match="run it with: tox run -e %s$" % environment.name):
        modules.load(environment.name)


def test_neither_registry_nor_common_imports_a_framework():
    code = "import sys, common.run.runner; print(' '.join(sys.modules))"
    environ = dict(os.environ, PYTHONPATH=ROOT)
    names = subprocess.check_output([sys.executable, "-c", code], env=environ).decode().split()
    packages = {framework.package for framework in FRAMEWORKS} - {"numpy"}
    assert not packages & set(names)


def test_the_manual_s_rows_of_own_files_agree_with_the_facts():
    table = [row for row in rows("docs/weights.md") if "`." in row[1]]
    assert table
    for names, endings, *_ in table:
        for name in re.findall(r"`([\w-]+)`", names):
            known = frameworks.ENVIRONMENTS[name].endings
            assert set(re.findall(r"`(\.[\w.]+)`", endings)) >= set(known), name


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_own_files_are_read_and_written_where_they_are_named(framework):
    assert modules.has(framework.name, "native") == bool(framework.endings)


@pytest.mark.parametrize("amd", [True, False])
@pytest.mark.parametrize("lane", contract.LANES)
def test_variables_for_amd_are_set_there_and_in_lane_best_only(amd, lane, monkeypatch):
    monkeypatch.setattr(modules.machine, "is_amd", lambda: amd)
    environment = next(facts for facts in FRAMEWORKS if facts.amd_environ)
    has_all = set(environment.amd_environ) <= set(modules.environ(environment.name, lane))
    assert has_all == (amd and lane == "best")
    monkeypatch.setattr(modules.mkl, "preloaded", lambda: {"LD_PRELOAD": "built"})
    newer = next(facts for facts in FRAMEWORKS if facts.newer_mkl)
    assert ("LD_PRELOAD" in modules.environ(newer.name, lane)) == (amd and lane == "best")
