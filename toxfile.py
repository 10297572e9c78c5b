"""What tox.ini cannot say: environments made from others, hidden interpreters, missing packages."""

import glob
import os
import sys

from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl
from tox.tox_env.errors import Fail, Skip
from tox.tox_env.info import Info
from tox.tox_env.python.virtual_env.runner import VirtualEnvRunner

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frameworks
import reports
from frameworks.cntk import mpi
from tests import challenge

# Sections of tox.ini that make a second environment of each framework's: test-NAME, mistakes-NAME.
KINDS = ("test", "mistakes")
MADE = {
    "%s-%s" % (kind, name): (kind, framework)
    for kind in KINDS
    for name, framework in frameworks.FRAMEWORKS.items()
}


def framework_of(env_name):
    """The framework's name in an environment's name; any other environment's own name."""
    return MADE[env_name][1].name if env_name in MADE else env_name


class SharedInfo(Info):
    """What tox notes in an environment's folder, under one name for all that share the folder.

    tox notes the environment's name, and builds the folder anew when it finds another there.
    """

    def compare(self, value, section, sub_section=None):
        if section == "ToxEnv":
            value = dict(value, name=framework_of(value["name"]))
        return super().compare(value, section, sub_section)


class Runner(VirtualEnvRunner):
    """tox's own runner; it also shares environments and says how to get a missing interpreter."""

    @staticmethod
    def id():
        return "rosetta"

    @property
    def cache(self):
        return SharedInfo(self.env_dir)

    @property
    def base_python(self):
        try:
            return super().base_python
        except Skip as skip:
            raise Skip(f"{skip}. {advice(self.conf['base_python'][0])}") from skip

    def virtualenv_env_vars(self):
        """An older virtualenv is told the interpreter's path, and takes the first offer instead."""
        variables = super().virtualenv_env_vars()
        if self.conf["virtualenv_spec"]:
            variables.pop("VIRTUALENV_TRY_FIRST_WITH", None)
        return variables


def advice(python):
    """How to get the interpreter ``python``, such as ``python3.6``."""
    version = python.replace("python", "")
    ways = [f"'pyenv install {version}'"]
    if int(version.split(".")[1]) >= 8:  # uv has no CPython older than that
        ways.insert(0, f"'uv python install {version}'")
    return f"Get it with {' or '.join(ways)}, or put {python} on PATH"


@impl
def tox_register_tox_env(register):
    register.add_run_env(Runner)
    register.default_env_runner = Runner.id()


@impl
def tox_extend_envs():
    return [*frameworks.FRAMEWORKS, *MADE]


@impl
def tox_add_core_config(core_conf, state):
    """Make test-NAME and mistakes-NAME of [testenv:NAME]; have pyenv's interpreters found, too.

    pyenv's shims answer only for the version that is chosen. Interpreters on PATH and uv's are
    found anyway. One older than 3.6 would end tox's search.
    """
    for env_name, (kind, framework) in MADE.items():
        base = [kind, "testenv:" + framework.name, "testenv"]
        labels = [] if framework.gpu else [kind]
        # Whatever shares a folder is done one after the other, in "tox run-parallel" too.
        before = "test-" + framework.name if kind == "mistakes" else framework.name
        loader = MemoryLoader(base=base, labels=labels, depends=before)
        state.conf.memory_seed_loaders[env_name].append(loader)
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for versions in ("3.[6-9].*", "3.[1-9][0-9].*"):
        found = glob.glob(os.path.join(root, "versions", versions, "bin", "python"))
        state.conf.options.discover += sorted(found)


@impl
def tox_add_env_config(env_conf, state):
    env_conf.add_constant("framework", "the framework's name", framework_of(env_conf.name))
    env_conf.add_constant("tox_python", "the interpreter that tox runs on", sys.executable)


@impl
def tox_before_run_commands(tox_env):
    """Stop before commands fail in their own words for want of a system package.

    CNTK's links to Open MPI are made here and not in commands_pre, which ``tox exec`` leaves out.
    """
    needs = {name: framework.system for name, framework in frameworks.FRAMEWORKS.items()}
    needs["report-test"] = reports.SYSTEM
    needs["challenge-test"] = challenge.SYSTEM
    needs[frameworks.WORKERS["chainer"]] = frameworks.MPI_COMPILER
    system = needs.get(tox_env.conf["framework"], {})
    packages = " ".join(frameworks.missing(system))
    if packages:
        raise Fail(f"what pip cannot bring is missing; get it with: apt install {packages}")
    if system == frameworks.MPI:
        mpi.link(os.path.join(tox_env.env_dir, "mpi"))
