"""A fixture and arrays for the tests of ``compare``."""

import itertools
import json

import numpy as np
import pytest

from common.challenge import challenge
from common.system import array_files, commands


@pytest.fixture
def compared(tmp_path, capsys):
    """Compare {name: array}s: (exit code, first difference, what was printed)."""

    def compare(a, b, *options, kinds=("npz", "npz")):
        paths = [str(tmp_path / ("%s.%s" % pair)) for pair in zip("ab", kinds)]
        for path, arrays in zip(paths, (a, b)):
            if path.endswith("npz"):
                np.savez(path, **arrays)
            else:
                array_files.write(path, arrays)
        out = str(tmp_path / "out.json")
        arguments = ["compare"] + paths + ["--json", out] + list(options)
        code = commands.guarded(challenge.command, arguments)
        printed = capsys.readouterr()
        if code == 2:
            assert printed.err.count("\n") == 1
            return code, None, printed.err
        with open(out) as file:
            verdict = json.load(file, parse_constant=pytest.fail)
        assert verdict["agree"] == (code == 0)
        return code, verdict["first_difference"], printed.out

    return compare


def normal(*shape, seed=0):
    """A random array in float32."""
    return np.random.RandomState(seed).standard_normal(shape).astype("f")


def rounded(array, seed=0):
    """The array as another library would compute it."""
    error = 1e-7 * np.random.RandomState(seed).standard_normal(array.shape)
    return (array * (1 + error)).astype("f")


def all_pairs(values):
    """Parameters (a, b) of all pairs; slow, but for those of a value and the next one."""
    for a, b in itertools.product(range(len(values)), repeat=2):
        slow = [] if b == (a + 1) % len(values) else [pytest.mark.slow]
        yield pytest.param(values[a], values[b], marks=slow)
