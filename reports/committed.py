"""Reads and checks the committed result files, and names those that cannot be used.

Files count as committed if they are in git's index, with their content there. So your own run,
which may overwrite such a file, changes no report until you ``git add`` it.
"""

import json
import subprocess
from collections import namedtuple
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema

from common.bench import report
from common.lessons import request as lessons_request
from common.networks import ALL
from common.profiles import profiles
from common.run import results
from common.sweep import request as sweep_request

HERE = Path(__file__).parent

Kind = namedtuple("Kind", "folder schema version")
Kind.__doc__ = (
    """Result files of one kind: their folder, with one for each machine in it, and their form."""
)

RUNS = Kind("results", HERE / "result.schema.json", results.SCHEMA_VERSION)
BENCHES = Kind("bench", HERE / "bench.schema.json", report.SCHEMA_VERSION)
PROFILES = Kind("profiles", HERE / "profile.schema.json", profiles.SCHEMA_VERSION)
STUDIES = Kind("lessons", HERE / "lessons.schema.json", lessons_request.SCHEMA_VERSION)
SWEEPS = Kind("sweeps", HERE / "sweeps.schema.json", sweep_request.SCHEMA_VERSION)
KINDS = (RUNS, BENCHES, PROFILES, STUDIES, SWEEPS)
FOLDERS = tuple(kind.folder for kind in KINDS)

Committed = namedtuple("Committed", "path machine result")
Committed.__doc__ = """A result file that can be used.

path: its path, relative to ``reports/``.
machine: the name of its folder.
result: its content, a dict of its kind's schema.
"""

Used = namedtuple("Used", "runs benches profiles studies sweeps")
Used.__doc__ = """All result files that can be used, by kind: lists of ``Committed``."""


class NoGit(Exception):
    """There is no git, or no git repository with results."""


def _git(*arguments, **options):
    """Git's output, split at zero bytes; NoGit if it fails."""
    command = ["git", "-C", str(HERE), *arguments]
    try:
        done = subprocess.run(command, check=True, capture_output=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoGit(str(error))
    return [name for name in done.stdout.decode().split("\0") if name]


@contextmanager
def folder():
    """A folder with only the committed result files; NoGit if git cannot tell."""
    names = _git("ls-files", "-z", "--", *FOLDERS)
    if not names:
        raise NoGit("git has no results")
    with TemporaryDirectory() as copy:
        prefix = "--prefix=%s/" % copy
        _git("checkout-index", "-z", "--stdin", prefix, input="\0".join(names).encode())
        # Git keeps paths relative to the repository, which may contain this project.
        yield Path(copy, _git("rev-parse", "--show-prefix")[0].strip())


def uncommitted():
    """The result files that are not in the index, or differ from it; NoGit as for ``folder``."""
    options = ("-z", "--others", "--modified", "--exclude-standard")
    return sorted(set(_git("ls-files", *options, "--", *FOLDERS)))


def read(folder):
    """(``Used`` of a folder like this one, {path: why} of the files left out)."""
    left_out = {}
    return Used(*(_read(folder, kind, left_out) for kind in KINDS)), left_out


def everything():
    """As ``read``, with the files that git does not have, and your own in ``mine``."""
    used, left_out = read(HERE)
    own, own_left_out = read(HERE / "mine")
    marked = [
        [each._replace(path="mine/" + each.path, machine=each.machine + "-mine") for each in kind]
        for kind in own
    ]
    left_out.update(("mine/" + path, why) for path, why in own_left_out.items())
    return Used(*(ours + mine for ours, mine in zip(used, marked))), left_out


def _number(text):
    """A number in a file; ValueError if it is not finite."""
    if not isfinite(float(text)):
        raise ValueError("%.20s is not a finite number" % text)
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _read(folder, kind, left_out):
    check = jsonschema.Draft7Validator(json.loads(kind.schema.read_text()))
    used = []
    for path in sorted(Path(folder, kind.folder).glob("*/*.json")):
        name = str(path.relative_to(folder))
        try:
            text = path.read_text(encoding="utf-8")
            hooks = {"parse_float": _number, "parse_int": _number, "parse_constant": _number}
            result = json.loads(text, **hooks)
        except ValueError as error:
            left_out[name] = "not JSON (%s)" % error
            continue
        version = result.get("schema") if isinstance(result, dict) else None
        if version != kind.version:
            left_out[name] = "of schema version %r, not %d" % (version, kind.version)
            continue
        problem = jsonschema.exceptions.best_match(check.iter_errors(result))
        if problem:
            where = "/".join(str(part) for part in problem.absolute_path) or "the whole"
            left_out[name] = "not a result: %s: %s" % (where, problem.message[:100])
        elif result.get("model", "cnn") not in ALL:
            left_out[name] = "of a network that is not here: %s" % result["model"]
        elif result.get("status", "finished") != "finished":
            left_out[name] = "of a run that stopped: %s" % result.get("error", "")
        else:
            used.append(Committed(name, path.parent.name, result))
    return used
