"""A module runs in versions without some of the names that it uses: ``older`` adds them."""

import subprocess
import sys

import pytest

from common.proof import contract
from common.system import modules
from common.system.files import ROOT
from tests import beside
from tests.environ import ENVIRON

# settings_check.older() takes these names away from the installed version.
CODE = """
import sys
import %(check)s as check
from common.run import first_step
from common.system import commands
import %(module)s as module

check.older()
try:
    module.configure(%(lane)r, 1, 0)
except AttributeError:
    sys.exit(commands.guarded(first_step.command, [%(name)r, "cnn", %(lane)r]))
sys.exit("configure() needs none of these names")
"""


@pytest.mark.parametrize("lane", contract.LANES)
def test_a_step_trains_in_an_older_version(name, lane):
    beside.need(name, "older")
    check, module = (beside.need(name, file) for file in ("settings_check", "cnn"))
    code = CODE % {"check": check, "module": module, "name": name, "lane": lane}
    environ = dict(ENVIRON, **modules.environ(name, lane))
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ)
    assert process.returncode == 0
