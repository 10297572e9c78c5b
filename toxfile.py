"""What tox.ini cannot express: derived environments, hidden interpreters, missing packages."""

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
from common.system import debian, shell
from frameworks.facts import Environment

FACTS = {**frameworks.ENVIRONMENTS, **frameworks.FOR_WORKERS}
# {section of tox.ini from which there are further environments, SECTION-NAME: {NAME: its facts}}.
KINDS = {
    "test": frameworks.ENVIRONMENTS,
    "mistakes": frameworks.ENVIRONMENTS,
    "workers": {name: FACTS[its_own] for name, its_own in frameworks.WORKERS.items()},
}
MADE = {
    "%s-%s" % (kind, name): (kind, environment)
    for kind, environments in KINDS.items()
    for name, environment in environments.items()
}
SAME = {"browser-test": "report-test"}  # what has another's virtual environment
# Later releases of virtualenv bring a pip that does not start on 3.7.
VIRTUALENVS = {"3.7": {"virtualenv_spec": "virtualenv<20.27"}}


def folder_of(env_name):
    """The name of the virtual environment that a tox environment uses."""
    if env_name in MADE:
        return MADE[env_name][1].name
    return SAME.get(env_name, env_name.replace("-slow", ""))


class SharedInfo(Info):
    """tox's notes in an environment's folder, with the same name for all that share the folder.

    tox writes the environment's name there, and rebuilds the folder if it finds another one.
    """

    def compare(self, value, section, sub_section=None):
        if section == "ToxEnv":
            value = dict(value, name=folder_of(value["name"]))
        return super().compare(value, section, sub_section)


class Runner(VirtualEnvRunner):
    """tox's runner, which also shares environments and says how to get a missing interpreter."""

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
        """Drop the first offer: an older virtualenv takes it instead of the named interpreter."""
        variables = super().virtualenv_env_vars()
        if self.conf["virtualenv_spec"]:
            variables.pop("VIRTUALENV_TRY_FIRST_WITH", None)
        return variables


def advice(python):
    """How to get the interpreter ``python``, such as ``python3.6``."""
    version = python.replace("python", "")
    ways = [f"'pyenv install {version}'"]
    if int(version.split(".")[1]) >= 8:  # uv has no older CPython
        ways.insert(0, f"'uv python install {version}'")
    return f"Get it with {' or '.join(ways)}, or put {python} on PATH"


@impl
def tox_register_tox_env(register):
    register.add_run_env(Runner)
    register.default_env_runner = Runner.id()


@impl
def tox_extend_envs():
    return [*FACTS, *MADE]


@impl
def tox_add_core_config(core_conf, state):
    """Make test-NAME and the like from sections, and let tox find pyenv's interpreters.

    pyenv's shims only run the selected version. tox finds interpreters on PATH and uv's anyway. One
    older than 3.6 would end its search.
    """
    seeds, usual = state.conf.memory_seed_loaders, state.conf.core["env_list"].envs
    for env_name, environment in FACTS.items():
        settings = VIRTUALENVS.get(environment.python, {})
        seeds[env_name].append(MemoryLoader(base=["testenv"], **settings))
    tested = sorted(name for name, facts in frameworks.ENVIRONMENTS.items() if not facts.gpu)
    names = [*FACTS, *MADE]
    for env_name, (kind, environment) in MADE.items():
        # Environments that share a folder must not run at the same time in "tox run-parallel".
        earlier = names[: names.index(env_name)]
        before = ", ".join(name for name in earlier if folder_of(name) == environment.name)
        settings = VIRTUALENVS.get(environment.python, {})
        labels = [] if environment.gpu else [kind]
        if labels and kind != "mistakes":  # those take hours, and "prove" keeps a record of them
            labels.append("all")
            if env_name not in usual:
                labels.append("eighth-%d" % (tested.index(env_name[len(kind) + 1 :]) % 8))
        settings = dict(settings, labels=labels, depends=before)
        seeds[env_name].append(MemoryLoader(base=[kind, "testenv"], **settings))
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for versions in ("3.[6-9].*", "3.[1-9][0-9].*"):
        paths = glob.glob(os.path.join(root, "versions", versions, "bin", "python"))
        state.conf.options.discover += sorted(paths)


@impl
def tox_add_env_config(env_conf, state):
    """Set the values that tox.ini's [testenv] has in braces, from the facts."""
    name = folder_of(env_conf.name)
    facts = FACTS.get(name, Environment(name, name, name))
    pins = "frameworks/%s/%s" % (facts.folder, facts.requirements)
    variables = dict(facts.environ, **facts.set_env)
    add = env_conf.add_constant
    add("folder", "the virtual environment's folder, which several may share", name)
    add("framework", "the name that commands take", facts.workers_of or name)
    add("interpreter", "the framework's interpreter", "python" + facts.python)
    lines = "\n".join("%s = %s" % pair for pair in variables.items())
    add("variables", "the framework's environment variables", lines)
    add("pins", "the framework's requirements", pins)
    tests = "tests/workers" if facts.workers_of == name else ""
    add("workers", "the tests of its workers, if they run in this environment", tests)
    # A command in the user's interpreter gets the variables that tox withholds from all others.
    add("shell", "variables of the user's shell that tune maths libraries", shell.text())
    env_conf.add_constant("tox_python", "the interpreter that tox runs on", sys.executable)


@impl
def tox_before_run_commands(tox_env):
    """Stop with a clear message if a system package is missing, and prepare the environment.

    It is prepared here and not in commands_pre, which ``tox exec`` skips.
    """
    name = folder_of(tox_env.name)
    packages = " ".join(debian.missing(debian.needs(tox_env.name)))
    if packages:
        raise Fail(f"what pip cannot bring is missing; get it with: apt install {packages}")
    if name in FACTS and FACTS[name].prepare:
        FACTS[name].prepare(tox_env.env_dir)
