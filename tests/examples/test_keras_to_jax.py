"""The example of docs/keras-to-jax.md: both sides run, and agree unless the port has a mistake."""

from pathlib import Path

import numpy as np
import pytest

from common.system.files import ROOT
from tests.examples.halves import compared, imported, run, skip_elsewhere

EXAMPLE = Path(ROOT, "docs", "examples", "keras-to-jax")

# A mistake in the port: the right code, the wrong one, and the recording and the array that differ.
MISTAKES = (
    ("rsqrt(variance + 1e-3) *", "rsqrt(variance + 1e-6) *", "forward", "norm2"),
    ("i, f, g, o = jnp.split", "i, g, f, o = jnp.split", "forward", "lstm"),
    ("approximate=False", "approximate=True", "forward", "dense1"),
    ("kept = 0.99", "kept = 0.9", "steps", "step3 norm1/moving_mean"),
)


def test_the_model_gives_the_recordings(name, tmp_path):
    skip_elsewhere(name, "keras")
    run(EXAMPLE / "record_original.py", EXAMPLE / "model.keras", tmp_path)
    for file in ("weights", "forward", "steps"):
        with np.load(str(EXAMPLE / (file + ".npz"))) as old, np.load(
            str(tmp_path / (file + ".npz"))
        ) as new:
            assert list(old) == list(new)  # every layer, though the model was loaded
        assert compared(EXAMPLE, file, tmp_path) == (0, None)


def test_the_original_trains(name, tmp_path):
    skip_elsewhere(name, "keras")
    run(EXAMPLE / "original.py", tmp_path / "model.keras")
    assert (tmp_path / "model.keras").is_file()


@pytest.mark.parametrize("wrong", (None,) + MISTAKES)
def test_the_port_agrees_unless_it_has_a_mistake(name, wrong, tmp_path):
    source = (EXAMPLE / "port.py").read_text()
    if wrong:
        assert source.count(wrong[0]) == 1
        source = source.replace(*wrong[:2])
    (tmp_path / "port.py").write_text(source)
    imported(tmp_path / "port.py", name, "jax").main(str(EXAMPLE), str(tmp_path))
    for file in ("forward", "steps") if wrong is None else (wrong[2],):
        expected = (3, wrong[3]) if wrong else (0, None)
        assert compared(EXAMPLE, file, tmp_path) == expected
