"""Every further model that a framework has climbs the rungs that apply to it.

In lane best: its settings are further from the reference's, and both lanes would take twice as
long. ``python -m tests.mistakes`` climbs with both.
"""

import subprocess
import sys

from common.given import models
from common.host.files import ROOT


def pytest_generate_tests(metafunc):
    name = metafunc.config.getoption("--framework")
    further = [model.name for model in models.of(name) if model is not models.CNN]
    metafunc.parametrize("further", further)


def test_certificate(name, further):
    command = [sys.executable, "-m", "common.proof", name, "--model", further, "--lane", "best"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    print(done.stdout)
    assert done.returncode == 0
