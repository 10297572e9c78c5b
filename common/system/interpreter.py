"""Run a command in an interpreter of the user's: ``--python PATH``.

It needs the framework and NumPy there. Python packages that we need are borrowed, and what the
user's shell sets for maths libraries reaches them, which tox would hold back.
"""

import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import NamedTuple

import frameworks
from common.system import borrowed, commands, environments, machine, shell
from common.system.errors import InputError
from common.system.files import ROOT, cache_folder

HERE = machine.OWN  # the variable that says in which PATH a command has been restarted
HELP = "run in this interpreter, which has the framework and NumPy, instead of the environment"
ENVIRONMENT = "check"  # the environment that has the packages to borrow
OLDEST = (3, 6)
ASK = """
import sys
print("python %%d %%d" %% sys.version_info[:2])
print("prefix " + sys.prefix)
if sys.version_info > (3, 4):
    import importlib.util
    for name in ("numpy", %r):
        if importlib.util.find_spec(name):
            print(name)
"""  # on Python 2, too


def add_option(parser):
    """The option ``--python`` of commands that can run in the user's interpreter."""
    parser.add_argument("--python", metavar="PATH", help=HELP)


class Ask(NamedTuple):
    """The run that a command asks for: an environment's network in a lane."""

    name: str
    model: str
    lane: str


def absolute(path):
    """The absolute path of an interpreter; it may begin with ~. A link to it is not followed."""
    return os.path.abspath(os.path.expanduser(path))


def mark(path):
    """A word that stands for a path in the names of files."""
    return hashlib.sha256(path.encode()).hexdigest()[:6]


def restart(path, ask, module, arguments):
    """Replace this process by ``python -m module`` in the interpreter at PATH, if it is not there.

    ask: an ``Ask``. InputError if the interpreter cannot run that.
    """
    if path is None:
        return
    path = absolute(path)
    if os.environ.get(HERE) == path:
        return
    variables = environ(path, ask)
    os.execve(path, [path, "-m", module] + arguments, variables)


def environ(path, ask):
    """The environment variables for a framework in the interpreter at PATH.

    InputError if that is no interpreter, lacks the framework or NumPy, or if the framework's
    version lacks a call that the network's module makes: that is found out by training one step.
    """
    environment = frameworks.ENVIRONMENTS[ask.name]
    variables = _environ(path, environment, _prefix(path, environment))
    flags = environment.flags if ask.lane == "best" else {}
    added = {
        key: (variables.get(key, "") + " " + flag).strip()
        for key, flag in flags.items()
        if flag not in variables.get(key, "")
    }
    if added:
        with suppress(InputError):
            try_step(path, ask, dict(variables, **added))
            return dict(variables, **added)
        # This version does not know them. Where the variable is set, the module adds no flag.
        variables = dict(dict.fromkeys(added, ""), **variables)
    try_step(path, ask, variables)
    return variables


def try_step(path, ask, variables):
    """InputError, with the reason, if the interpreter cannot train one step."""
    command = [path, "-m", "common.run.first_step", *ask]
    with tempfile.TemporaryFile() as log:
        code = commands.call(command, log, cwd=ROOT, env=variables)
        if code:
            raise InputError("--python %s: %s" % (path, environments.reason(code, log)))


def _kept():
    """The variables of this process and of the user's shell, without those of tox's environment."""
    kept = {key: value for key, value in os.environ.items() if not shell.tunes(key)}
    for foreign in ("VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):
        kept.pop(foreign, None)
    folders = kept.get("PATH", "").split(os.pathsep)  # a shim takes the first Python there
    ours = os.path.dirname(sys.executable)
    kept["PATH"] = os.pathsep.join(folder for folder in folders if folder != ours)
    return dict(kept, **shell.variables())


def _environ(path, environment, prefix):
    kept = _kept()
    needed = set_env(environment, prefix, kept, _caches(path))
    folders = filter(None, (ROOT, kept.get("PYTHONPATH")))
    ours = {"PYTHONPATH": os.pathsep.join(folders), HERE: path, borrowed.FOLDER: folder()}
    ours[shell.SHELL] = shell.text()  # as it is before a module sets variables of its own
    ours[machine.OBEYED] = " ".join(environment.threads_from)
    return dict(needed, **dict(kept, **ours))


def contents():
    """What its versions do not say about this interpreter, for a hash.

    These are its path, its packages and when each was installed, and the variables that the user's
    shell sets for maths libraries. Threads are left out because a run's settings have them, and
    memory because no result depends on it.
    """
    packages = []
    for folder in sys.path:
        for kind in ("*.dist-info", "*.egg-info"):
            found = glob.glob(os.path.join(glob.escape(folder), kind))
            packages += [(os.path.basename(each), int(os.path.getmtime(each))) for each in found]
    conda = glob.glob(os.path.join(glob.escape(sys.prefix), "conda-meta", "*.json"))
    tuned = {
        key: value
        for key, value in shell.variables().items()
        if not key.endswith("_NUM_THREADS") and not key.startswith("MALLOC_")
    }
    return [sys.prefix, sorted(packages), sorted(map(os.path.basename, conda)), tuned]


def set_env(environment, prefix, variables, caches):
    """The variables that tox sets for an environment, as if that were in the folder ``prefix``.

    caches: the folder for what frameworks compile, which tox's environments keep in themselves.
    """

    def value(match):
        libraries, name, default = match.groups()
        if name is not None:
            return variables.get(name, default or "")
        return caches if libraries is None else prefix + libraries

    braces = r"\{(?:env_dir\}(/lib\b)?|env:(\w+)(?::([^}]*))?\})"
    return {key: re.sub(braces, value, text) for key, text in environment.set_env.items()}


def _caches(path):
    """The folder, which exists, for what frameworks compile in the interpreter at PATH."""
    made = os.path.join(cache_folder(), "interpreters", mark(path))
    try:
        os.makedirs(made, exist_ok=True)
    except OSError as error:
        raise InputError("%s: cannot be written: %s" % (made, error.strerror))
    return made


def _prefix(path, environment):
    """The folder of the interpreter at PATH; InputError if it cannot run the framework."""
    if os.path.isdir(path):
        raise InputError("--python %s: it is a folder, not an interpreter" % path)
    if not os.path.isfile(path):
        raise InputError("--python %s: there is no such file" % path)
    known = _said(path, ASK % environment.package)
    if "prefix" not in known or not re.match("[0-9]+ [0-9]+$", known.get("python", "")):
        raise InputError("--python %s: it is not a Python interpreter" % path)
    version = tuple(map(int, known["python"].split()))
    if version < OLDEST:
        raise InputError(
            "--python %s: it is Python %d.%d; the oldest that works is 3.6" % (path, *version)
        )
    for title, package in ((environment.title, environment.package), ("NumPy", "numpy")):
        if package not in known:
            raise InputError("--python %s: %s is not installed there" % (path, title))
    return known["prefix"]


def _said(path, code):
    """{first word of a line: the rest} that the interpreter prints; {} if it is none."""
    try:
        output = subprocess.check_output(
            [path, "-c", code],
            env=_kept(),
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = output.decode(errors="replace").splitlines()
    return {line.partition(" ")[0]: line.partition(" ")[2] for line in lines}


def folder():
    """The folder with the packages to borrow; InputError if this interpreter has other ones."""
    if borrowed.FOLDER in os.environ:
        return os.environ[borrowed.FOLDER]
    for place in sys.path:
        if all(os.path.isdir(os.path.join(place, name)) for name in borrowed.distributions()):
            return place
    raise InputError(
        "--python: start this in the environment that has the packages to borrow: "
        "tox exec -e %s -- python -m ..." % ENVIRONMENT
    )
