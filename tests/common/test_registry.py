"""The registry, tox.ini and the folders tell the same story."""

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


def test_missing_system_packages_are_found_by_their_program_or_library():
    system = {"coreutils": "ls", "libc6": "libc.so.6", "no-tool": "nil-nil", "no-lib": "libnil.so"}
    assert sorted(debian.missing(system)) == ["no-lib", "no-tool"]


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_module_stands_in_its_folder(framework):
    assert os.path.isfile(os.path.join(ROOT, frameworks.path(framework)))


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_a_recorder_takes_the_network_or_the_model(framework):
    path = frameworks.path(framework, "record")
    if not modules.has(framework.name, "record"):
        pytest.skip("not there yet: " + path)
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        assert re.search(r"^def record\((network|model), x\):$", file.read(), re.MULTILINE), path


@pytest.mark.parametrize("name", [one.name for one in FRAMEWORKS if one.gpu])
def test_a_gpu_variant_runs_the_same_module_with_pins_of_its_own(name):
    """What ``for_gpu`` says to a user whose GPU is not used leads there."""
    (plain,) = [one for one in FRAMEWORKS if frameworks.for_gpu(one.name) == name]
    variant = frameworks.ENVIRONMENTS[name]
    assert not plain.gpu and frameworks.path(plain) == frameworks.path(variant)
    assert requirements(plain) != requirements(variant)


def test_readme_lists_every_environment():
    """A row of its table names the environment, its interpreter and its module."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("| `") and "](frameworks/" in line]
    for framework in FRAMEWORKS:
        found = [row for row in rows if "`%s`" % framework.name in row.split("|")[1]]
        assert len(found) == 1, "README.md: no row, or two, for `%s`" % framework.name
        assert framework.python in found[0].split("|")[3], framework.name
        assert frameworks.path(framework) in found[0].split("|")[4], framework.name


def test_unknown_framework_is_refused_with_the_known_ones():
    known = ", ".join(frameworks.ENVIRONMENTS)
    with pytest.raises(InputError, match="unknown framework 'none'; known: %s$" % known):
        modules.load("none")


def test_a_framework_that_is_not_installed_says_how_it_is_run(monkeypatch):
    environment = next(one for one in FRAMEWORKS if one.package != "numpy")
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


def test_readme_lists_every_framework_s_own_files():
    """A row names the environments and each ending."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("| `") and "](frameworks/" not in line]
    for framework in (one for one in FRAMEWORKS if not one.gpu):
        found = [row for row in rows if "`%s`" % framework.name in row.split("|")[1]]
        told = [row for row in found if all("`%s`" % e in row for e in framework.endings)]
        assert bool(framework.endings) == (len(told) == 1), framework.name


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_own_files_are_read_and_written_where_they_are_named(framework):
    assert modules.has(framework.name, "native") == bool(framework.endings)


@pytest.mark.parametrize("amd", [True, False])
@pytest.mark.parametrize("lane", contract.LANES)
def test_what_an_amd_needs_is_its_own_and_lane_bests(amd, lane, monkeypatch):
    monkeypatch.setattr(modules.machine, "is_amd", lambda: amd)
    environment = next(one for one in FRAMEWORKS if one.amd_environ)
    found = set(environment.amd_environ) <= set(modules.environ(environment.name, lane))
    assert found == (amd and lane == "best")
