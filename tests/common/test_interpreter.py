"""Commands in an interpreter of the user's: what it borrows, and which variables reach it."""

import glob
import os
import subprocess
import sys

import pytest

import frameworks
from common.bench import contenders, process
from common.bench.request import parse as bench_request
from common.run import first_step, runner
from common.system import (
    borrowed,
    commands,
    environments,
    interpreter,
    machine,
    modules,
    shell,
    source,
)
from common.system.errors import InputError
from common.system.files import ROOT
from frameworks.facts import Environment
from tests import some

ASK = interpreter.Ask("numpy", "mlp", "same")
MISSING = some.PLAIN  # it is not in these tests' environments


@pytest.fixture
def clean(monkeypatch, tmp_path):
    """A shell without variables of ours; packages are borrowed from the folder that it returns."""
    for name in list(os.environ):
        if shell.tunes(name) or name in (shell.SHELL, shell.CARRIED, interpreter.HERE):
            monkeypatch.delenv(name)
    monkeypatch.setenv(borrowed.FOLDER, str(tmp_path))
    return tmp_path


@pytest.fixture
def no_step(monkeypatch):
    """The user's interpreter is asked for its packages only: no step is trained."""
    monkeypatch.setattr(interpreter, "try_step", lambda *_: None)


def put(folder, name, text):
    (folder / name).write_text(text)


def run(code, **environ):
    command = [sys.executable, "-c", "import common; " + code]
    environ = dict(os.environ, PYTHONPATH=ROOT, **environ)
    return subprocess.check_output(command, env=environ).decode().strip()


def test_a_missing_package_is_borrowed_but_none_that_is_not_listed(tmp_path):
    put(tmp_path, "appdirs.py", "here = True")
    put(tmp_path, "secret.py", "here = True")
    code = "import sys, importlib.util as u; sys.modules.pop('appdirs', None); "
    code += "print(bool(u.find_spec('appdirs')), bool(u.find_spec('secret')))"
    assert run(code, ROSETTA_BORROWED=str(tmp_path)) == "True False"


def test_a_borrowed_package_does_not_hide_the_interpreters_own(tmp_path):
    put(tmp_path, "tqdm.py", "raise SystemExit('the borrowed one')")
    assert run("import tqdm; print('its own')", ROSETTA_BORROWED=str(tmp_path)) == "its own"


def test_every_package_to_borrow_is_pinned():
    assert {"tqdm", "threadpoolctl", "pooch", "requests", "charset_normalizer"} <= set(
        borrowed.pins()
    )
    assert "tqdm-%s.dist-info" % borrowed.pins()["tqdm"] in borrowed.distributions()


def test_the_users_variables_reach_the_interpreter_and_toxs_do_not(clean, no_step, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # ours: this process has set it for itself
    monkeypatch.setenv(shell.SHELL, "KMP_AFFINITY=compact%2C1&OMP_NUM_THREADS=3&PYTHONPATH=/mine")
    monkeypatch.setenv("VIRTUAL_ENV", "/tox")
    environ = interpreter.environ(sys.executable, ASK)
    assert environ["OMP_NUM_THREADS"] == "3" and environ["KMP_AFFINITY"] == "compact,1"
    assert "VIRTUAL_ENV" not in environ
    assert environ["PYTHONPATH"].split(os.pathsep) == [ROOT, "/mine"]
    assert environ[interpreter.HERE] == sys.executable


def test_a_framework_may_be_on_the_users_path_alone(clean, tmp_path, monkeypatch):
    environment = frameworks.ENVIRONMENTS[MISSING]
    (tmp_path / "path" / environment.package).mkdir(parents=True)
    (tmp_path / "path" / environment.package / "__init__.py").write_text("")
    with pytest.raises(InputError, match="is not installed there"):
        interpreter._prefix(sys.executable, environment)
    monkeypatch.setenv(shell.SHELL, "PYTHONPATH=%s" % (tmp_path / "path"))
    assert interpreter._prefix(sys.executable, environment) == sys.prefix


def test_a_framework_takes_its_threads_from_the_variables_that_it_obeys(
    clean, no_step, monkeypatch
):
    """Others compute with all cores under OPENBLAS_NUM_THREADS=1."""
    monkeypatch.setattr(interpreter, "_prefix", lambda *_: "/opt/conda")
    for number, variable in enumerate(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"), 3):
        monkeypatch.setenv(variable, str(number))

    def that_obeys(variable):
        return some.environment(lambda facts: facts.threads_from[0] == variable, gpu_of="")

    by_mkl, by_nproc = that_obeys("MKL_NUM_THREADS"), that_obeys("NPROC")
    by_openmp = that_obeys("OMP_NUM_THREADS")
    for name, asked in ((frameworks.REFERENCE, 3), (by_mkl, 4), (by_nproc, 5), (by_openmp, 4)):
        variables = interpreter.environ(sys.executable, ASK._replace(name=name))
        assert machine.asked_threads(variables) == asked
        assert variables["OPENBLAS_NUM_THREADS"] == "3"
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    variables = interpreter.environ(sys.executable, ASK._replace(name=by_openmp))
    assert machine.asked_threads(variables) == 2


WITH_FLAGS = some.environment(lambda facts: facts.flags, gpu_of="")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("own", [None, "--mine"])
def test_a_version_that_does_not_know_a_modules_flags_runs_without_them(
    clean, monkeypatch, known, own
):
    """An unknown flag ends the process; with the variable set, the module sets none."""
    ((variable, flag),) = frameworks.ENVIRONMENTS[WITH_FLAGS].flags.items()

    def try_step(path, ask, variables):
        if not known and (variable not in variables or flag in variables[variable]):
            raise InputError("it was ended by SIGABRT")

    monkeypatch.setattr(interpreter, "try_step", try_step)
    monkeypatch.setattr(interpreter, "_prefix", lambda *_: "/opt/conda")
    if own:
        monkeypatch.setenv(variable, own)
    ask = ASK._replace(name=WITH_FLAGS, lane="best")
    found = interpreter.environ(sys.executable, ask)[variable]
    assert found == " ".join(filter(None, [own, flag if known else None]))
    same = interpreter.environ(sys.executable, ask._replace(lane="same")) if known else {}
    assert same.get(variable) == (own if known else None)


def test_a_modules_flags_are_known_before_it_is_imported():
    for environment in frameworks.ENVIRONMENTS.values():
        files = glob.glob(os.path.join(ROOT, "frameworks", environment.folder, "*.py"))
        text = "".join(map(source.read, files))
        assert all(flag in text for flag in environment.flags.values()), environment.name


def test_a_step_that_fails_is_one_line(clean, monkeypatch):
    """By a real child, which says why."""
    calls = []

    def call(command, log, **options):
        calls.append(command)
        log.write(b"noise\nerror: it lacks a call\n")
        return 2

    monkeypatch.setattr(commands, "call", call)
    with pytest.raises(InputError, match="^--python /opt/python: it lacks a call$"):
        interpreter.try_step("/opt/python", ASK, {})
    assert calls == [["/opt/python", "-m", "common.run.first_step", "numpy", "mlp", "same"]]


def test_a_process_that_is_killed_says_by_which_signal(clean, tmp_path):
    code = "import os; print('last words', flush=True); os.kill(os.getpid(), 4)"
    for line, reason in (
        (code, "it was ended by SIGILL: last words"),
        ("print('error: this'); print('Exception ignored in: that'); exit(2)", "this"),
    ):
        with open(str(tmp_path / "log"), "w+b") as log:
            status = commands.call([sys.executable, "-c", line], log)
            assert status and environments.reason(status, log) == reason


def test_without_tox_the_shell_itself_counts(clean, monkeypatch):
    monkeypatch.setenv("MKL_NUM_THREADS", "2")
    monkeypatch.setenv("HOME_OF", "nothing")
    assert shell.variables() == {"MKL_NUM_THREADS": "2"}
    shell.keep()
    monkeypatch.setenv("MKL_NUM_THREADS", "9")
    assert shell.variables() == {"MKL_NUM_THREADS": "2"}


def test_the_shells_compiler_flags_count(clean, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--any")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", "Terraform's")
    assert shell.variables() == {"XLA_FLAGS": "--any"}


def test_the_version_of_an_unknown_package_is_unknown():
    assert machine.versions("no_such_package")["framework"] == "unknown"


def test_a_frameworks_variables_are_set_as_tox_would():
    facts = {"A": "{env_dir}/lib", "B": "{env:B:Haswell}", "C": "{env:C:x}:{env_dir}", "D": "plain"}
    environment = Environment("n", "N", "n", set_env=facts)
    known = interpreter.set_env(environment, "/opt/conda", {"B": "Zen"}, "/cache/1")
    assert known == {"A": "/opt/conda/lib", "B": "Zen", "C": "x:/cache/1", "D": "plain"}


def test_the_number_of_threads_is_the_shells_in_the_users_interpreter_alone(clean, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    assert machine.default_threads() == 2
    monkeypatch.setenv(interpreter.HERE, sys.executable)
    assert machine.default_threads() == 5 and commands.thread_count("5") == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert machine.default_threads() == 2


@pytest.mark.parametrize(
    "path, line",
    [
        ("/nowhere/python", "there is no such file"),
        ("/bin", "it is a folder, not an interpreter"),
        (os.path.join(ROOT, "README.md"), "it is not a Python interpreter"),
        ("/bin/ls", "it is not a Python interpreter"),
    ],
)
def test_a_path_that_is_no_interpreter_is_one_line(path, line, clean, capsys):
    arguments = ["numpy", "--python", path]
    assert commands.guarded(runner.main, arguments) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error == "error: --python %s: %s" % (path, line)


def test_a_missing_framework_is_one_line(clean, capsys):
    arguments = [MISSING, "--python", sys.executable]
    assert commands.guarded(runner.main, arguments) == 2
    (error,) = capsys.readouterr().err.splitlines()
    title = frameworks.ENVIRONMENTS[MISSING].title
    assert error == "error: --python %s: %s is not installed there" % (sys.executable, title)


def test_a_version_without_a_call_is_one_line(monkeypatch, capsys):
    def configure(lane, threads, seed):
        raise AttributeError("module 'thing' has no attribute 'new'")

    load = modules.in_lane
    replaced = lambda *given: modules.replaced(load(*given), configure=configure)  # noqa: E731
    monkeypatch.setattr(modules, "in_lane", replaced)
    assert commands.guarded(first_step.command, list(ASK)) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "cannot run frameworks/numpy/mlp.py: AttributeError: module 'thing' has no" in error


def test_a_step_can_be_trained():
    assert first_step.command(list(ASK)) == 0


def test_a_command_restarts_only_once(clean, no_step, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda *given: started.append(given))
    interpreter.restart(sys.executable, ASK, "common.run", ["numpy"])
    ((path, command, environ),) = started
    assert command == [path, "-m", "common.run", "numpy"]
    monkeypatch.setenv(interpreter.HERE, environ[interpreter.HERE])
    interpreter.restart(sys.executable, ASK, "common.run", ["numpy"])
    interpreter.restart(None, ASK, "common.run", ["numpy"])
    assert len(started) == 1


def test_no_packages_to_borrow_is_one_line(clean, monkeypatch):
    monkeypatch.delenv(borrowed.FOLDER)
    monkeypatch.setattr(sys, "path", [str(clean)])
    with pytest.raises(InputError, match="tox exec -e check"):
        interpreter.folder()


@pytest.mark.parametrize(
    "text, python, lane, size",
    [
        ("numpy@/opt/conda/bin/python", "/opt/conda/bin/python", None, None),
        ("numpy@/opt/conda/bin/python:best@128", "/opt/conda/bin/python", "best", 128),
        ("numpy@/opt/python@3.11/bin/python3", "/opt/python@3.11/bin/python3", None, None),
        ("numpy@/opt/me@home/bin/python:same@16", "/opt/me@home/bin/python", "same", 16),
        ("numpy@128", None, None, 128),
    ],
)
def test_a_contender_may_have_an_interpreter(text, python, lane, size):
    contender = contenders.read(text)
    assert (contender.python, contender.lane, contender.batch_size) == (python, lane, size)
    assert contender.text == text
    assert contender.environment == ("check" if python else "numpy")


def test_mine_stands_beside_ours():
    mine = "numpy@%s" % sys.executable
    request = bench_request(["numpy:best", mine + ":best", "--threads", "1"])
    assert list(request.contenders) == ["numpy:best", mine + ":best"]


def test_a_contenders_process_takes_the_shells_threads(clean, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv(interpreter.HERE, sys.executable)
    arguments = ["numpy", "--model", "mlp", "--lane", "same", "--port", "1"]
    assert process.parse(arguments + ["--python", sys.executable]).threads == 3


def test_a_variable_of_any_bytes_is_kept(monkeypatch):
    monkeypatch.delenv(shell.SHELL, raising=False)
    monkeypatch.setenv(shell.CARRIED, os.fsdecode(b"/tmp/\xe9"))
    before = shell.variables()
    monkeypatch.setenv(shell.SHELL, shell.text())
    assert shell.variables() == before
