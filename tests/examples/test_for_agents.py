"""The script of docs/for-agents.md records a network with what models of others have in them."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from common.challenge import challenge
from common.system import commands
from common.system.files import ROOT
from tests.examples.halves import skip_elsewhere

PAGE = Path(ROOT, "docs", "for-agents.md")
BATCHES = "    return [{%s} for _ in range(STEPS)]\n"
FILLED = '"x": np.random.RandomState(1).randn(8, 6, 5).astype("f"), "labels": np.arange(8) % 3'

ORIGINAL = '''
import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Result:
    hidden: torch.Tensor
    extra: dict


class CastingNorm(nn.Module):
    """The norm of many language models: it computes in float32, whatever it is given."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5))

    def forward(self, x):
        y = x.to(torch.float32)
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True).float() + 1e-6)
        return self.weight * y.to(x.dtype)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.relu = nn.Linear(5, 5), nn.ReLU()
        self.zero = nn.Linear(5, 5)
        nn.init.zeros_(self.zero.weight)
        nn.init.zeros_(self.zero.bias)

    def forward(self, x):
        hidden = self.relu(self.up(x))
        return Result(hidden, {"more": self.relu(self.zero(hidden)), "none": x[:, :0]})


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.block = CastingNorm(), Block()
        self.gru = nn.GRU(5, 4, batch_first=True)
        self.last = nn.utils.weight_norm(nn.Linear(4, 3))
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        result = self.block(self.norm(x))
        packed = nn.utils.rnn.pack_padded_sequence(
            result.hidden + result.extra["more"], [6, 5, 5, 4, 4, 3, 2, 1], batch_first=True
        )
        _, state = self.gru(packed)
        return self.drop(self.last(state[0]))
'''


def script():
    """The page's first script, with its batches filled in."""
    text = PAGE.read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    blank = BATCHES % '"x": ..., "labels": ...'
    assert code.count(blank) == 1
    return code.replace(blank, BATCHES % FILLED)


def recorded(folder, code):
    """Run the script in a folder, beside the original."""
    (folder / "original.py").write_text(ORIGINAL)
    (folder / "record_original.py").write_text(code)
    command = [sys.executable, "record_original.py"]
    return subprocess.run(command, cwd=str(folder), stderr=subprocess.PIPE, text=True)


def compared(*paths):
    """The exit code of ``compare``."""
    return commands.guarded(challenge.command, ["compare"] + [str(path) for path in paths])


@pytest.fixture(scope="module")
def folder(name, tmp_path_factory):
    skip_elsewhere(name, "pytorch")
    made = tmp_path_factory.mktemp("agent")
    done = recorded(made, script())
    assert done.returncode == 0, done.stderr
    return made


def test_all_that_the_modules_return_is_recorded(folder):
    names = np.load(str(folder / "original-pass.npz")).files
    assert names == [
        "x",
        "labels",
        "norm.input",
        "norm",
        "block.up",
        "block.relu",
        "block.zero",
        "block.relu, call 2",
        "block.hidden",
        "block.extra.more",
        "gru",
        "gru.1",
        "last",
        "drop",
        "output",
    ]


def test_no_parameter_is_constant(folder):
    weights = np.load(str(folder / "weights.npz"))
    assert all(weights[name].std() > 0 for name in weights.files)


def test_the_float64_pass_measures_float32_s_error_behind_a_cast(folder):
    single, double = (np.load(str(folder / ("original-pass%s.npz" % end))) for end in ("", "64"))
    assert double["norm"].dtype == np.float64
    assert 0 < np.abs(single["norm"] - double["norm"]).max() < 1e-6
    for part in ("pass", "steps"):
        pair = [folder / ("original-%s%s.npz" % (part, end)) for end in ("", "64")]
        assert compared(*pair) == 0
        assert compared(pair[0], pair[0], "--exact", pair[1], "--all") == 0


def test_a_step_that_drops_its_gradients_is_refused(name, tmp_path):
    skip_elsewhere(name, "pytorch")
    last = "    optimizer.step()\n"
    code = script()
    assert code.count(last) == 1
    done = recorded(tmp_path, code.replace(last, last + "    optimizer.zero_grad()\n"))
    assert done.returncode == 1 and "no gradients are left" in done.stderr
