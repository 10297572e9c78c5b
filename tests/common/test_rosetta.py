"""rosetta.pyz runs where there is nothing but NumPy."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from common.rosetta import build, command
from common.system import commands


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs the file in this Python, which sees NumPy and no other library."""
    folder = tmp_path_factory.mktemp("rosetta")
    file, seen = str(folder / "rosetta.pyz"), folder / "seen"
    assert commands.guarded(build.command, [file]) == 0
    seen.mkdir()
    installed = os.path.dirname(os.path.dirname(np.__file__))
    for name in ("numpy", "numpy.libs"):
        if os.path.isdir(os.path.join(installed, name)):
            (seen / name).symlink_to(os.path.join(installed, name))
    environ = {"PYTHONPATH": str(seen), "HOME": str(folder), "PATH": os.environ["PATH"]}

    def run(*arguments, program=(file,)):
        process = subprocess.run(
            [os.path.realpath(sys.executable), "-S", *program, *map(str, arguments)],
            env=environ,
            cwd=str(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        return process.returncode, process.stdout, process.stderr

    run.folder = folder
    return run


def test_there_is_only_numpy(run):
    for name, code in (("numpy", 0), ("psutil", 1), ("tqdm", 1), ("jsonschema", 1), ("common", 1)):
        assert run(program=("-c", "import " + name))[0] == code, name


def test_each_command_runs(run):
    a, b = run.folder / "a.npz", run.folder / "b.safetensors"
    x = np.random.RandomState(0).normal(size=(4, 50)).astype(np.float32)
    np.savez(str(a), x=x, y=np.maximum(x, 0))
    code, out, error = run("dump", a, b)
    assert (code, error) == (0, "") and "2 arrays in %s" % b in out
    assert run("compare", a, b)[0] == 0
    np.savez(str(a), x=x, y=x)
    code, out, _ = run("compare", a, b)
    assert code == 3 and "ReLU" in out


def test_a_challenge_is_written_and_checked(run):
    code, _, error = run("challenge", "write", "new", "--model", "mnist_cnn", "--threads", "1")
    assert code == 0, error
    assert sorted(item.name for item in (run.folder / "new").iterdir()) == [
        "README.md",
        "challenge.json",
        "challenge.npz",
        "challenge.safetensors",
    ]
    np.savez(str(run.folder / "none.npz"), x=np.zeros(3, np.float32))
    code, _, error = run("challenge", "check", "new", "none.npz")
    assert code == 2 and "'x' is no answer of this challenge" in error
    (run.folder / "new" / "challenge.json").write_text('{"schema": 3, "models": 1}')
    code, _, error = run("challenge", "check", "new", "none.npz")
    assert code == 2 and error.endswith("challenge.json is not a challenge's script\n")


def test_bad_input_is_one_line(run):
    for arguments in ((), ("paint",), ("dump", "nothing.pt"), ("compare", "a")):
        code, _, error = run(*arguments)
        assert code == 2 and error.startswith("error: ") and error.count("\n") == 1
    assert run("--help")[1] == command.HELP + "\n"


def test_the_page_for_agents_and_the_page_of_compare_are_in_it(run):
    code, out, _ = run("guide")
    assert code == 0 and out.startswith("# For coding agents")
    a = run.folder / "guide.npz"
    np.savez(str(a), x=np.random.RandomState(0).normal(size=(4, 50)).astype(np.float32))
    options = ("--all", "--json", "out.json", "--html", "out.html")
    code, _, error = run("compare", a, a, *options)
    assert (code, error) == (0, "")
    assert json.loads((run.folder / "out.json").read_text())["schema"] == 1
    assert (run.folder / "out.html").read_text().startswith("<!doctype html>")


def test_the_same_code_makes_the_same_file(tmp_path):
    contents = []
    for name in ("a.pyz", "b.pyz"):
        build.build(str(tmp_path / name))
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    with zipfile.ZipFile(str(tmp_path / "a.pyz")) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {build.WHEN}
    assert b"tqdm-" in contents[0] and b"LICENSE" in contents[0]
