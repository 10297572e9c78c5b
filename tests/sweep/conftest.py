"""A stand-in for tox, so that tests of sweeps need no framework."""

import json
import os
import stat
import sys

import pytest

# It is called as "STUB -m tox run ..." or "STUB -m tox exec -qq -e NAME -- python ... --out PATH".
# A file "slow" in $SWEEP_TEST makes every training wait until it is gone; "fail" makes it fail.
STUB = """#!%s
import json, os, sys, time
folder = os.environ["SWEEP_TEST"]
if sys.argv[3] == "run":
    sys.exit(0)
name, seed = sys.argv[sys.argv.index("-e") + 1], sys.argv[sys.argv.index("--seed") + 1]
with open(os.path.join(folder, "started"), "a") as file:
    file.write("%%s %%s %%d %%d\\n" %% (name, seed, os.getpid(), os.getppid()))
while os.path.exists(os.path.join(folder, "slow")):
    time.sleep(0.1)
if os.path.exists(os.path.join(folder, "fail")):
    sys.exit("error: it cannot be trained")
result = json.load(open(os.path.join(folder, "result.json")))
result["accuracy"]["value"] = 0.7 + 0.01 * int(seed)
with open(sys.argv[-1], "w") as file:
    json.dump(result, file)
"""

RESULT = {
    "status": "finished",
    "made": "2026-01-01T00:00:00Z",
    "versions": {"python": "3.11"},
    "settings": {"device": "cpu"},
    "source_sha256": "0" * 64,
    "machine": {"cpu": "a CPU"},
    "dataset": {"name": "synthetic", "sha256": "1" * 64, "train_images": 64, "test_images": 10000},
    "losses": [2.3, 2.2],
    "timings": {"train": 1.5},
    "accuracy": {"value": 0.0, "n": 100},
    "certificate": {"identity": "2" * 64},
}


class Stub:
    """The stand-in's folder."""

    def __init__(self, folder):
        self.folder = folder
        self.file("result.json").write_text(json.dumps(RESULT))

    def file(self, name):
        return self.folder / name

    def started(self):
        """[(environment, seed, its process, the process that started it)] of all trainings."""
        path = self.file("started")
        lines = path.read_text().splitlines() if path.exists() else []
        return [(name, *map(int, numbers)) for name, *numbers in map(str.split, lines)]


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """A home of the tests' own, because Ray writes a token there, which it keeps in mind."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    os.environ.update({"HOME": before} if before else {})


@pytest.fixture
def stub(tmp_path, monkeypatch):
    folder = tmp_path / "stub"
    folder.mkdir()
    tox = folder / "tox"
    tox.write_text(STUB % sys.executable)
    tox.chmod(tox.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SWEEP_TEST", str(folder))
    monkeypatch.setenv("ROSETTA_TOX", str(tox))
    monkeypatch.setattr("common.system.environments.TOX", (str(tox), "-m", "tox"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    return Stub(folder)
