"""What tox cannot say in tox.ini: where interpreters hide, what is missing, short runs."""

import glob
import os
import sys

from tox.plugin import impl
from tox.tox_env.errors import Fail, Skip
from tox.tox_env.python.virtual_env.runner import VirtualEnvRunner

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import frameworks
import reports

# Long enough to meet every step, short enough for all frameworks in one test run.
SHORT_RUN = "@tests/short-run.txt"


class Runner(VirtualEnvRunner):
    """tox's own runner, which also says how to get an interpreter that is missing."""

    @staticmethod
    def id():
        return "rosetta"

    @property
    def base_python(self):
        try:
            return super().base_python
        except Skip as skip:
            version = self.conf["base_python"][0].replace("python", "")
            raise Skip(
                f"{skip}. Get it with 'uv python install {version}' or 'pyenv install {version}', "
                f"or put a python{version} on PATH"
            ) from skip

    def virtualenv_env_vars(self):
        """An older virtualenv is told the interpreter's path, and takes the first offer instead."""
        variables = super().virtualenv_env_vars()
        if self.conf["virtualenv_spec"]:
            variables.pop("VIRTUALENV_TRY_FIRST_WITH", None)
        return variables


@impl
def tox_register_tox_env(register):
    register.add_run_env(Runner)
    register.default_env_runner = Runner.id()


@impl
def tox_add_core_config(core_conf, state):
    """Have pyenv's interpreters found, too: its shims answer only for the chosen version.

    Those on PATH and uv's are found anyway. One older than 3.6 would end tox's search.
    """
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for versions in ("3.[6-9].*", "3.[1-9][0-9].*"):
        found = glob.glob(os.path.join(root, "versions", versions, "bin", "python"))
        state.conf.options.discover += sorted(found)


@impl
def tox_before_run_commands(tox_env):
    """Stop before commands fail in their own words for want of a system package."""
    needs = {name: framework.system for name, framework in frameworks.FRAMEWORKS.items()}
    needs["report-test"] = reports.SYSTEM
    packages = " ".join(frameworks.missing(needs.get(tox_env.conf.name, {})))
    if packages:
        raise Fail(f"what pip cannot bring is missing; get it with: apt install {packages}")


@impl
def tox_add_env_config(env_conf, state):
    """``default_run``: what a run is given before that which stands behind ``--``.

    Nothing in an environment that was asked for by name; plain ``tox`` is a test, so its runs are
    short.
    """
    chosen = getattr(state.conf.options, "env", None)
    short = chosen is None or chosen.is_default_list
    env_conf.add_constant("default_run", "options of the run", SHORT_RUN if short else "")
