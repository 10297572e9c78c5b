"""Workers that share a batch compute what one process computes, and a mistake in them is caught."""

import os
import subprocess

import pytest

from common.host import modules
from common.host.files import ROOT

SHARE = "slice(rank, None, workers)"
PLANTED = {
    "none": (SHARE, SHARE, ""),
    "all_take_the_same_share": (SHARE, "slice(0, None, workers)", "gradient"),
    "gradients_not_averaged": (
        "        return Parallel(network), ",
        "        network = Parallel(network)\n        network.require_backward_grad_sync = False\n"
        "        return network, ",
        "gradient",
    ),
}


@pytest.mark.parametrize("mistake", PLANTED)
def test_what_differs_among_workers_is_caught(name, mistake, tmp_path):
    old, new, rung = PLANTED[mistake]
    assert first_failure(name, "mlp", tmp_path, old, new) == rung


def test_workers_that_draw_the_same_masks_are_caught(name, tmp_path):
    assert first_failure(name, "cnn", tmp_path, "seed + 2**16 * rank", "seed") == "dropout"


def first_failure(name, model, folder, old, new):
    """The first rung that fails, the same in both workers; empty if none does."""
    launcher = modules.load(name, "workers").launcher(2)
    worker = [os.path.join(os.path.dirname(__file__), "worker.py"), name, model, str(folder)]
    environ = dict(os.environ, PYTHONPATH=ROOT, OMP_NUM_THREADS="1")
    subprocess.run(launcher + worker + [old, new], check=True, env=environ, timeout=600)
    first, second = ((folder / str(rank)).read_text().split(" ")[0] for rank in range(2))
    assert first == second
    return first
