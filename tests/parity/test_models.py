"""Every further model that a framework has climbs the rungs that apply to it."""

import subprocess
import sys

from common.given import models
from common.host.files import ROOT
from common.proof import contract


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    further = [model.name for model in models.of(name) if model is not models.CNN]
    cases = [(name, lane) for name in further for lane in contract.LANES]
    metafunc.parametrize("further, lane", cases)


def test_certificate(name, further, lane):
    command = [sys.executable, "-m", "common.proof", name, "--model", further, "--lane", lane]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0
