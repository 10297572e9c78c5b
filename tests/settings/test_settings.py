"""Every setting that a module reports is in force, or is listed in ``not_in_force``."""

import json
import subprocess
import sys

import pytest

from common.proof import contract
from common.system import mkl, modules
from common.system.files import ROOT
from tests import beside
from tests.environ import ENVIRON

# The certificate shows these: what ``load`` returned, where it ran, which masks were drawn, and
# who gets the gradient of a tie.
SHOWN_ELSEWHERE = {"device", "layout", "seed", "ties", "not_in_force"}


@pytest.mark.parametrize("lane", contract.LANES)
def test_settings_are_in_force(name, lane):
    beside.need(name, "settings_check")
    command = [sys.executable, "-m", "tests.settings", name, lane]
    process = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(ENVIRON, **modules.environ(name, lane)),
        stdout=subprocess.PIPE,
        universal_newlines=True,
    )
    assert process.returncode == 0, "%s broke down (see above)" % " ".join(command[1:])
    shown = json.loads(process.stdout.splitlines()[-1])
    excused = SHOWN_ELSEWHERE.union(shown["settings"]["not_in_force"])
    assert not {"threads", "precision"} & set(shown["settings"]["not_in_force"])
    if shown["settings"]["device"] != "cpu":
        excused.add("threads")  # those of the host, which waits
    reported = {key: shown["settings"][key] for key in shown["settings"] if key not in excused}
    in_force = {key: shown["in_force"].get(key, "not reported") for key in reported}
    assert in_force == reported
    cpu_type = modules.environ(name, lane).get("MKL_DEBUG_CPU_TYPE")
    assert cpu_type in (None, shown["mkl_cpu_type"])
    if mkl.in_force(modules.environ(name, lane)):
        assert shown["mkl_cpu_type"] != "0"  # kernels for any processor
