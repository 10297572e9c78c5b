"""Workers that share a batch compute what one process computes, and a mistake in them is caught.

``-m "not slow"`` leaves a right run, a mistake and a killed worker.
"""

import os
import subprocess
import sys
import time
from typing import NamedTuple, Tuple

import pytest

from common.system import modules, workers

WORKER = os.path.join(os.path.dirname(__file__), "worker.py")
slow = pytest.mark.slow


class Shown(NamedTuple):
    """How a mistake is shown: the network, the number of workers, and the rungs to climb."""

    model: str = "mlp"
    team: int = 2
    rungs: Tuple[str, ...] = ("weights", "forward", "gradient")


USUAL = Shown()
SHOWN = {
    "masks_alike": Shown(model="cnn", rungs=("dropout",)),
    "masks_of_the_first_fit_again": Shown(model="cnn", rungs=("dropout",)),
    "clipped_before_averaging": Shown(model="gpt", rungs=("gradient", "momentum")),
}
RESNET = Shown(model="resnet")
# Masks, a norm to clip to, and targets that do not count.
FURTHER = [SHOWN["masks_alike"], SHOWN["clipped_before_averaging"], Shown(model="llama")]


def usual(name):
    """The smallest network that the framework has."""
    return USUAL if has(name, USUAL) else USUAL._replace(model="cnn")


def shown_for(name, trap):
    """Where a framework's trap is planted."""
    if trap == "mean_of_means":  # it shows if the batch does not divide
        return usual(name)._replace(team=3)
    return SHOWN.get(trap, usual(name))


def whole(name):
    """The whole certificate of that network."""
    return usual(name)._replace(rungs=())


def run(name, mistake, shown, folder):
    """Run workers with a mistake, and return their exit code."""
    command = [sys.executable, WORKER, name, shown.model, str(shown.team), str(folder), mistake]
    return workers.run(name, shown.team, command + list(shown.rungs))


def outcome(name, mistake, shown, folder):
    """The first rung that each worker failed."""
    assert run(name, mistake, shown, folder) == 0
    return [(folder / str(rank)).read_text() for rank in range(shown.team)]


def has(name, shown):
    return modules.has(name, shown.model)


def known(name, fact):
    """Whether the framework's ``workers.py`` says so."""
    return getattr(modules.load(name, "workers"), fact, False)


def pytest_generate_tests(metafunc):
    """Each trap of the framework's workers, and each network without a mistake."""
    name = metafunc.config.getoption("--framework")
    if "trap" in metafunc.fixturenames:
        every = modules.traps(name, "workers")
        traps = [trap for trap in every if has(name, shown_for(name, trap.name))]
        metafunc.parametrize("trap", traps, ids=[trap.name for trap in traps])
    if "normalised" in metafunc.fixturenames:
        shown = [RESNET] if has(name, RESNET) else []
        metafunc.parametrize("normalised", shown, ids=[each.model for each in shown])
    if "right" in metafunc.fixturenames:
        further = [whole(name)] + [shown for shown in FURTHER if has(name, shown)]
        params = [pytest.param(shown, marks=slow) for shown in further]
        ids = ["first_rungs", "whole", *(shown.model for shown in further[1:])]
        metafunc.parametrize("right", [usual(name), *params], ids=ids)


def test_workers_without_a_mistake_pass(name, right, tmp_path):
    assert outcome(name, "none", right, tmp_path) == [""] * right.team


@slow
def test_shares_of_unequal_size_pass_or_are_refused(name, tmp_path):
    """Three workers: batches of 16 or 64 do not divide."""
    shown = whole(name)._replace(team=3)
    if not known(name, "EQUAL_SHARES"):
        assert outcome(name, "none", shown, tmp_path) == [""] * 3
        return
    command = [sys.executable, "-m", "common.proof", name, "--model", shown.model]
    refused = subprocess.run(command + ["--workers", "3"], stderr=subprocess.PIPE)
    (line,) = refused.stderr.decode().splitlines()
    assert refused.returncode == 2 and "3 workers cannot share batches of" in line


@slow
def test_a_mistake_of_workers_is_caught(name, trap, tmp_path):
    shown = shown_for(name, trap.name)
    assert outcome(name, trap.name, shown, tmp_path) == [trap.rung] * shown.team


def test_a_share_of_the_same_rows_is_caught(name, tmp_path):
    shown = usual(name)._replace(rungs=("gradient",))
    assert all(outcome(name, "same_rows", shown, tmp_path))


@slow
def test_a_share_of_the_batch_before_is_caught(name, tmp_path):
    shown = usual(name)._replace(rungs=("gradient", "momentum"))
    assert all(outcome(name, "a_step_behind", shown, tmp_path))


@slow
def test_weights_of_ones_own_are_caught_or_replaced(name, tmp_path, record_property):
    """Some wrappers send the first worker's weights to all others.

    The second worker alone would fail the first rungs, and would look for the reason alone.
    """
    shown = usual(name)._replace(rungs=("gradient",))
    rungs = outcome(name, "own_weights", shown, tmp_path)
    record_property("caught", all(rungs))
    assert rungs == ["", ""] if known(name, "SENDS_WEIGHTS") else all(rungs)


@slow
def test_batch_normalisation_by_share_is_caught(name, normalised, tmp_path, record_property):
    """Some frameworks normalise over the whole batch."""
    rung = "" if known(name, "SHARES_STATISTICS") else "gradient"
    record_property("caught", bool(rung))
    assert outcome(name, "none", normalised, tmp_path) == [rung, rung]


def test_a_killed_worker_ends_the_run(name, tmp_path, capfd, record_property):
    shown = usual(name)._replace(rungs=("gradient",))
    assert run(name, "dies", shown, tmp_path) == 1
    ended = time.time() - os.path.getmtime(str(tmp_path / "died"))
    record_property("seconds", round(ended, 1))
    last = capfd.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ") and ended < 30, last
