"""The process that starts workers: it ends all when one dies, says why in one line, leaves none."""

import socket
import subprocess
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

import frameworks
from common import networks
from common.data.shakespeare import IGNORED
from common.proof import shares
from common.system import workers
from common.system.errors import InputError
from common.system.files import ROOT

BEGIN = """
import os, sys, time
from common.system import workers

number = int(os.environ["RANK"])
with open(%r + str(number), "w") as file:
    file.write(str(os.getpid()))
"""
JOIN = """
workers.rank = lambda name: number
workers.PAUSE = 0
workers.join("any")
"""
WAIT = "time.sleep(60)"
STARTER = """
import sys
from types import SimpleNamespace
from common.system import workers

environ = lambda rank, addresses, folder: {"RANK": str(rank)}
workers._functions = lambda name: SimpleNamespace(environ=environ)
workers.run("any", 2, [sys.executable, "-c", %r])
"""


def environ(rank, addresses, folder):
    return {"RANK": str(rank)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the manual says so")
def test_workers_die_with_a_process_that_is_killed(tmp_path):
    """Even before they have joined."""
    code = STARTER % (BEGIN % str(tmp_path / "pid") + WAIT)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as starter:
        limit = time.monotonic() + 60
        while sum(path.stat().st_size > 0 for path in tmp_path.glob("pid*")) < 2:
            assert time.monotonic() < limit, "the workers did not start"
            time.sleep(0.05)
        pids = [int(path.read_text()) for path in tmp_path.glob("pid*")]
        starter.kill()
    limit = time.monotonic() + 10
    while any(map(running, pids)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not list(filter(running, pids))


def running(pid):
    """Whether a process that nobody may wait for still runs."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs Python code as two workers: (exit code, the workers' process ids).

    server: the code of a server that they have.
    """
    monkeypatch.setenv("PYTHONPATH", ROOT)
    place = str(tmp_path / "pid")

    def run(code, server=None):
        functions = SimpleNamespace(environ=environ)
        if server:
            served = [sys.executable, "-c", BEGIN % place + server], {"RANK": "2"}
            functions.servers = lambda addresses, folder: [served]
        monkeypatch.setattr(workers, "_functions", lambda name: functions)
        made = workers.run("any", 2, [sys.executable, "-c", BEGIN % place + code])
        # On a busy machine one may fail before the other has begun.
        return made, [
            int(path.read_text()) for path in tmp_path.glob("pid*") if path.stat().st_size
        ]

    return run


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_worker_ends_the_run_with_one_line(run, victim, capsys):
    begun = time.time()
    code, pids = run("time.sleep(1)\nnumber == %d and os.kill(os.getpid(), 9)\n" % victim + WAIT)
    assert code == 1 and time.time() - begun < 30
    assert capsys.readouterr().err == "error: worker %d of 2 was killed by SIGKILL\n" % victim
    assert not any(map(psutil.pid_exists, pids))


def test_a_worker_that_fails_is_named_with_the_last_line_of_its_log(run, capsys):
    code, pids = run(JOIN + "if number: raise ValueError('no gradient')\n" + WAIT)
    assert code == 1
    assert capsys.readouterr().err == "error: worker 1 of 2: ValueError: no gradient\n"
    assert not any(map(psutil.pid_exists, pids))


def test_a_killed_server_ends_the_run_with_one_line(run, capsys):
    code, pids = run(WAIT, server="time.sleep(1)\nos.kill(os.getpid(), 9)")
    assert code == 1 and len(pids) == 3
    assert capsys.readouterr().err == "error: a server of the workers was killed by SIGKILL\n"
    assert not any(map(psutil.pid_exists, pids))


def test_a_server_ends_with_the_workers(run):
    code, pids = run("time.sleep(0.5)", server=WAIT)
    assert code == 0 and len(pids) == 3
    assert not any(map(psutil.pid_exists, pids))


@pytest.mark.parametrize("code", [0, 2, 3, workers.FAILED])
@pytest.mark.parametrize("order", ["number", "1 - number"])
def test_the_exit_code_is_that_of_all_workers(run, code, order, capsys):
    made, _ = run("time.sleep(0.5 + %s); sys.exit(%d)" % (order, code))
    assert made == (1 if code == workers.FAILED else code)
    assert capsys.readouterr().err == ""  # the first worker says why


@pytest.mark.parametrize("code", [2, 3, workers.FAILED, 137])
def test_a_launcher_hides_no_exit_code(code, monkeypatch, capsys):
    launcher = [sys.executable, "-c", "import sys; sys.exit(%d)" % code]
    functions = SimpleNamespace(launcher=lambda count, command: launcher)
    monkeypatch.setattr(workers, "_functions", lambda name: functions)
    assert workers.run("any", 2, []) == (code if code in (2, 3) else 1)
    assert ("a worker died" in capsys.readouterr().err) == (code == 137)


def test_workers_in_the_wrong_environment_or_with_too_large_a_seed_are_refused(monkeypatch):
    monkeypatch.setattr(frameworks, "WORKERS", {"a": "a-mpi", "b": "b"})
    monkeypatch.setattr(sys, "prefix", "/any/.tox/a")
    with pytest.raises(InputError, match="run in another environment: tox run -e a-mpi"):
        workers.check("a", 2, 0)
    workers.check("a", 1, 2**32 - 1)
    workers.check("b", 2, 2**31)
    with pytest.raises(InputError, match="--seed: 4294967295 is too large for 2 workers"):
        workers.check("b", 2, 2**32 - 1)


def test_addresses_are_free_and_different():
    addresses = workers.free_addresses(3)
    assert len(set(addresses)) == 3
    for address in addresses:
        host, _, port = address.partition(":")
        with socket.socket() as listener:
            listener.bind((host, int(port)))


def test_targets_that_do_not_count_are_not_counted():
    texts, joints = np.array([[5, IGNORED], [7, 8]]), np.zeros((2, 3, 3))
    joints[0, 1, 2] = 1
    assert shares.counter(networks.find("cnn"))(np.arange(4)) == 4
    assert shares.counter(networks.find("llama"))(texts) == 3
    assert shares.counter(networks.find("pose"))(joints) == 1


def test_shares_must_be_equal_where_the_framework_needs_it(monkeypatch):
    monkeypatch.setattr(workers, "_functions", lambda name: SimpleNamespace(EQUAL_SHARES=True))
    workers.check_shares("any", 2, 16)
    with pytest.raises(InputError, match="3 workers cannot share batches of 16 equally"):
        workers.check_shares("any", 3, 16)
