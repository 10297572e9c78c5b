"""Ctrl-C, SIGTERM and two runs at a time: real processes and real signals."""

import _thread
import json
import os
import signal
import subprocess
import sys
import threading
import time
from unittest import mock

import jsonschema
import psutil
import pytest

from common.run import clocks
from common.system import commands
from common.system.files import ROOT

STEPS = 10  # of an epoch

# A run with trivial steps; its certificate, if any, is real.
RUN = """
import itertools, sys, time
from common.system import commands, modules
from common.proof import certificate, scores
from common.run import runner

def train(model, batches):
    for _ in batches:
        time.sleep(0.02)
        yield 2.0

modules.load("numpy").train = train
modules.load("numpy").predict = lambda model, x: x.reshape(len(x), -1)[:, :10]
scores.problem = lambda *_: ""
if sys.argv[1] == "proven":
    rung = dict(rung="data", passed=True, what="", error=0.0, tolerance=0.0, checks=1, detail="")
    proof = dict(framework="numpy", lane="same", passed=True, multiple=16, rungs=[rung] * 8)
    proof.update(losses={}, identity="0" * 64)
    certificate.obtain = lambda *arguments, **_: dict(proof, settings=arguments[-1])
sys.exit(commands.guarded(runner.command, sys.argv[2:]))
"""


def heed_signals():
    """Handle Ctrl-C as in a terminal; programs that a script starts with "&" ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def start(folder, proof, epochs):
    """A run in a process group of its own, as a terminal would start it; its stderr is a file."""
    command = [sys.executable, "-c", RUN, proof, "numpy", "--data", "synthetic", "--threads", "1"]
    command += ["--train-images", str(64 * STEPS), "--test-images", "70", "--epochs", str(epochs)]
    command += ["--out", str(folder / "result.json")]
    environ = dict(os.environ, PYTHONPATH=ROOT, ROSETTA_CACHE=str(folder / "cache"))
    with open(str(folder / "stdout"), "wb") as out, open(str(folder / "stderr"), "wb") as error:
        return subprocess.Popen(
            command,
            env=environ,
            stdout=out,
            stderr=error,
            start_new_session=True,
            preexec_fn=heed_signals,
        )


def wait_for(text, file, process):
    """Return when ``file`` contains ``text``."""
    for _ in range(600):
        if text in file.read_bytes():
            return
        assert process.poll() is None, file.read_bytes()
        time.sleep(0.1)
    raise AssertionError("%r did not come" % text)


def errors(folder):
    """The text on stderr without progress bars, which overwrite each other."""
    text = (folder / "stderr").read_text().replace("\r", "\n")
    return [line for line in text.splitlines() if line.strip() and "%|" not in line]


@pytest.mark.parametrize(
    "number, code, words",
    [
        (signal.SIGINT, 130, "stopped by Ctrl-C after"),
        pytest.param(signal.SIGTERM, 143, "stopped by SIGTERM after", marks=pytest.mark.slow),
    ],
)
def test_a_signal_stops_a_run_and_keeps_its_losses(number, code, words, tmp_path):
    process = start(tmp_path, "proven", 1000)
    wait_for(b"epoch 3/", tmp_path / "stderr", process)
    os.killpg(process.pid, number)
    assert process.wait(timeout=60) == code
    (line,) = errors(tmp_path)
    assert line.startswith("error: " + words) and "result.json" in line
    result = json.loads((tmp_path / "result.json").read_text())
    with open(os.path.join(ROOT, "reports", "result.schema.json")) as file:
        jsonschema.validate(result, json.load(file))
    assert result["status"] == "stopped" and result["error"].startswith(words)
    assert len(result["losses"]) >= 2 * STEPS and "accuracy" not in result


@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_certificate_with_the_run(number, code, tmp_path):
    """Ctrl-C reaches both processes, SIGTERM only the run."""
    process = start(tmp_path, "to be proven", 1)
    wait_for(b"proving", tmp_path / "stdout", process)
    wait_for(b"rung", tmp_path / "stderr", process)
    (child,) = psutil.Process(process.pid).children()
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        os.kill(process.pid, number)
    assert process.wait(timeout=60) == code
    text = (tmp_path / "stderr").read_text()
    assert text.count("error: ") == 1 and text.splitlines()[-1].count("error: stopped by ") == 1
    assert "Traceback" not in text
    child.wait(timeout=10)
    assert not (tmp_path / "result.json").exists()


def test_an_interrupt_that_a_framework_dropped_is_raised_at_the_next_step(capsys):
    def command(arguments):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            pass
        module = mock.Mock(train=lambda model, batches: iter([1.0]))
        clocks.timed_pass(module, None, None, 1)

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    heed_signals()
    try:
        assert commands.guarded(command, []) == 130
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert capsys.readouterr().err == "error: stopped by Ctrl-C\n"
    assert commands.guarded(lambda _: commands.check_interrupt() or 0, []) == 0


def test_an_interrupt_that_a_framework_turned_into_its_own_error_is_one():
    try:
        try:
            raise commands.Terminated()
        except KeyboardInterrupt as stop:
            raise SystemError("returned a result with an error set") from stop
    except SystemError as error:
        assert isinstance(commands.interrupt_in(error), commands.Terminated)
    assert commands.interrupt_in(ValueError()) is None


SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def children(monkeypatch):
    """The processes that ``commands.call`` starts; Ctrl-C raises KeyboardInterrupt meanwhile."""
    started = []

    class Child(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Child)
    with commands.handlers_kept():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        yield started


def test_a_task_that_is_cancelled_ends_its_child(children):
    """Ray interrupts a task's main thread as Ctrl-C does, but without a signal."""
    threading.Timer(0.5, _thread.interrupt_main).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        commands.call(SLEEP)
    assert time.monotonic() - start < 30 and not psutil.pid_exists(children[0].pid)


def test_a_child_that_is_starting_when_the_signal_comes_is_ended(children, monkeypatch):
    popen = subprocess.Popen

    def interrupted(*arguments, **options):
        child = popen(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commands.call(SLEEP)
    assert not psutil.pid_exists(children[0].pid)


@pytest.mark.slow
def test_two_runs_of_a_kind_at_a_time_do_not_disturb_each_other(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    processes = [start(folder, "proven", 3) for folder in folders]
    results = []
    for folder, process in zip(folders, processes):
        assert process.wait(timeout=120) == 0, (folder / "stderr").read_bytes()
        results.append(json.loads((folder / "result.json").read_text()))
    assert [result["status"] for result in results] == ["finished", "finished"]
    assert results[0]["losses"] == results[1]["losses"] == [2.0] * 3 * STEPS


def test_a_child_is_ended_without_psutil(monkeypatch):
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    child = subprocess.Popen(sleeping, preexec_fn=heed_signals)
    monkeypatch.setitem(sys.modules, "psutil", None)
    commands.end_family(child)
    assert child.returncode == -signal.SIGTERM
