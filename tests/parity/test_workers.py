"""Workers that share a batch compute what one process computes, and a mistake in them is caught."""

import os
import subprocess

from common.system import modules
from common.system.files import ROOT

# The network that shows a mistake, and the rungs to climb with it: all if none is named.
SHOWN = {"dropout": ("cnn", ["dropout"])}
USUAL = ("mlp", [])


def pytest_generate_tests(metafunc):
    """Each trap of the framework's workers, and each network without a mistake."""
    traps = modules.traps(metafunc.config.getoption("--framework"), "workers")
    planted = [(trap.name, trap.rung, *SHOWN.get(trap.rung, USUAL)) for trap in traps]
    planted += [("none", "", *shown) for shown in [USUAL, *SHOWN.values()]]
    metafunc.parametrize("mistake, rung, model, climbed", planted)


def test_what_differs_among_workers_is_caught(name, mistake, rung, model, climbed, tmp_path):
    launcher = modules.load(name, "workers").launcher(2)
    worker = [os.path.join(os.path.dirname(__file__), "worker.py"), name, model, str(tmp_path)]
    command = launcher + worker + [mistake] + climbed
    environ = dict(os.environ, PYTHONPATH=ROOT, OMP_NUM_THREADS="1")
    subprocess.run(command, check=True, env=environ, timeout=600)
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == [rung, rung]
