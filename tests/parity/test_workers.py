"""Workers that share a batch compute what one process computes, and a mistake in them is caught."""

import os
import subprocess

import pytest

from common.system import modules
from common.system.files import ROOT

SHARE, SEED = "slice(rank, None, workers)", "seed + 2**16 * rank"
PLANTED = {
    "none": ("mlp", SHARE, SHARE, ""),
    "all_take_the_same_share": ("mlp", SHARE, "slice(0, None, workers)", "gradient"),
    "gradients_not_averaged": (
        "mlp",
        "return Parallel(network),",
        "network = Parallel(network)\nnetwork.require_backward_grad_sync = False\nreturn network,",
        "gradient",
    ),
    "none_with_dropout": ("cnn", SEED, SEED, ""),
    "all_draw_the_same_masks": ("cnn", SEED, "seed", "dropout"),
}
CLIMBED = {"mlp": [], "cnn": ["dropout"]}  # the rungs; all where none is named


@pytest.mark.parametrize("mistake", PLANTED)
def test_what_differs_among_workers_is_caught(name, mistake, tmp_path):
    model, old, new, rung = PLANTED[mistake]
    launcher = modules.load(name, "workers").launcher(2)
    worker = [os.path.join(os.path.dirname(__file__), "worker.py"), name, model, str(tmp_path)]
    command = launcher + worker + [old, new] + CLIMBED[model]
    environ = dict(os.environ, PYTHONPATH=ROOT, OMP_NUM_THREADS="1")
    subprocess.run(command, check=True, env=environ, timeout=600)
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == [rung, rung]
