"""What the examples' tests share: an example has two halves, each for its own framework."""

import importlib.util
import json
import subprocess
import sys

import pytest

from common.challenge import challenge
from common.system import commands
from common.system.files import ROOT


def skip_elsewhere(name, framework):
    """Skip the test in another framework's environment."""
    if name != framework:
        pytest.skip("this half of the example runs in %s" % framework)


def run(path, *arguments):
    """Run a script of an example in a process of its own, where nothing has been configured."""
    subprocess.run([sys.executable, str(path), *map(str, arguments)], cwd=ROOT, check=True)


def imported(path, name, framework):
    """A script of an example; the test is skipped in another framework's environment."""
    skip_elsewhere(name, framework)
    spec = importlib.util.spec_from_file_location(path.stem, str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compared(example, file, folder):
    """(exit code, the name of the first array that differs) for a recording and the original's."""
    out = folder / "verdict.json"
    pair = [str(place / (file + ".npz")) for place in (example, folder)]
    code = commands.guarded(challenge.command, ["compare"] + pair + ["--json", str(out)])
    difference = json.loads(out.read_text())["first_difference"]
    return code, difference and difference["a"]
