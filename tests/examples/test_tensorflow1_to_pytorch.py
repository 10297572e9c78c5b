"""The example of docs/port-your-model.md: both sides run, and each mistake shows at its layer."""

import json
from pathlib import Path

import numpy as np
import pytest

from common.system.files import ROOT
from tests.examples.halves import compared, imported

EXAMPLE = Path(ROOT, "docs", "examples", "tensorflow1-to-pytorch")
PAGE = Path(ROOT, "docs", "port-your-model.md")

# The first draft's mistakes in the order in which they are found: the right lines, the wrong ones,
# the recording that shows the mistake, and the array of the old model at which it does.
MISTAKES = (
    (
        (
            ("nn.Conv2d(3, 8, 3, stride=2, bias=False)", "self.conv1(F.pad(x, (0, 1, 0, 1)))"),
            ("nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)", "self.conv1(x)"),
        ),
        "forward",
        "conv1/Conv2D",
    ),
    (
        (("(8, eps=1e-3",), ("(8",)),
        "forward",
        "bn1/FusedBatchNormV3",
    ),
    (
        (
            (
                "array.reshape(4, 4, 16, 32).transpose(3, 2, 0, 1).reshape(32, 256)",
                "array.reshape(32, 16, 4, 4).transpose(2, 3, 1, 0).reshape(256, 32)",
            ),
            ("array.T", "array.T"),
        ),
        "forward",
        "flatten/Reshape",
    ),
    (
        ((", momentum=0.01)",), (")",)),
        "steps",
        "after bn1/moving_mean",
    ),
)


@pytest.fixture
def script(name):
    """Import a script of the example, if it is for the framework under test."""
    return lambda path, framework: imported(path, name, framework)


def test_the_checkpoint_gives_the_recordings(script, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    script(EXAMPLE / "record_original.py", "tensorflow1").main(
        str(EXAMPLE / "model.ckpt"), str(tmp_path)
    )
    with np.load(str(EXAMPLE / "weights.npz")) as old, np.load(
        str(tmp_path / "weights.npz")
    ) as new:
        assert sorted(old) == sorted(new)
        assert all(np.array_equal(old[name], new[name]) for name in old)
    assert compared(EXAMPLE, "forward", tmp_path) == (0, None)
    assert compared(EXAMPLE, "steps", tmp_path) == (0, None)


def test_the_old_model_trains(script, tmp_path):
    script(EXAMPLE / "original.py", "tensorflow1").main(str(tmp_path / "model.ckpt"))
    assert (tmp_path / "model.ckpt.index").is_file()


def ported(script, wrong, tmp_path):
    """Record the port with these mistakes in it."""
    source = (EXAMPLE / "port.py").read_text()
    for (right, instead), _, _ in wrong:
        for line, other in zip(right, instead):
            assert source.count(line) == 1
            source = source.replace(line, other)
    path = tmp_path / "port.py"
    path.write_text(source)
    script(path, "pytorch").main(str(EXAMPLE), str(tmp_path))


def test_the_port_agrees(script, tmp_path):
    ported(script, (), tmp_path)
    assert compared(EXAMPLE, "forward", tmp_path) == (0, None)
    assert compared(EXAMPLE, "steps", tmp_path) == (0, None)


@pytest.mark.parametrize("fixed", range(len(MISTAKES)))
def test_the_next_mistake_is_found_at_its_place(script, fixed, tmp_path):
    """With the first ones fixed, as on the page."""
    ported(script, MISTAKES[fixed:], tmp_path)
    lines, file, name = MISTAKES[fixed]
    assert all(some[0] in PAGE.read_text(encoding="utf-8") for some in lines)
    if file == "steps":
        assert compared(EXAMPLE, "forward", tmp_path) == (0, None)
    assert compared(EXAMPLE, file, tmp_path) == (3, name)
    difference = json.loads((tmp_path / "verdict.json").read_text())["first_difference"]
    relation = difference["relation"].partition(";")[0]  # a correlation's digits may differ
    assert (difference["computes"] or relation) in PAGE.read_text(encoding="utf-8")
