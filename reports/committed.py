"""The committed result files: read, checked, and named where they cannot be used.

Committed is what git's index holds, as it holds it. So a run of one's own, which writes its file
among them or over one of them, changes no report; ``git add`` takes it in.
"""

import json
import subprocess
from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import jsonschema

from common.bench import bench
from common.lessons import study
from common.profiles import profiles
from common.run import results

HERE = Path(__file__).parent

Kind = namedtuple("Kind", "folder schema version")
Kind.__doc__ = (
    """Result files of one kind, a folder for each machine: where they lie, and their form."""
)

RUNS = Kind("results", HERE / "result.schema.json", results.SCHEMA_VERSION)
BENCHES = Kind("bench", HERE / "bench.schema.json", bench.SCHEMA_VERSION)
PROFILES = Kind("profiles", HERE / "profile.schema.json", profiles.SCHEMA_VERSION)
STUDIES = Kind("lessons", HERE / "lessons.schema.json", study.SCHEMA_VERSION)
KINDS = (RUNS, BENCHES, PROFILES, STUDIES)
FOLDERS = tuple(kind.folder for kind in KINDS)

Committed = namedtuple("Committed", "path machine result")
Committed.__doc__ = """A result file that can be used.

path: where it lies, from ``reports/`` on.
machine: the name of its folder.
result: its content, a dict, as its kind's schema has it.
"""

Used = namedtuple("Used", "runs benches profiles studies")
Used.__doc__ = """All result files that can be used, by kind: lists of ``Committed``."""


class NoGit(Exception):
    """This is no git repository that holds results, or there is no git."""


def _git(*arguments, **options):
    """What git prints, cut at its zero bytes; NoGit if it fails."""
    command = ["git", "-C", str(HERE), *arguments]
    try:
        done = subprocess.run(command, check=True, capture_output=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoGit(str(error))
    return [name for name in done.stdout.decode().split("\0") if name]


@contextmanager
def folder():
    """A folder with the committed result files alone; NoGit where that cannot be known."""
    names = _git("ls-files", "-z", "--", *FOLDERS)
    if not names:
        raise NoGit("git has no results")
    with TemporaryDirectory() as copy:
        prefix = "--prefix=%s/" % copy
        _git("checkout-index", "-z", "--stdin", prefix, input="\0".join(names).encode())
        # git puts files where they stand in the repository, of which this may be a part.
        yield Path(copy, _git("rev-parse", "--show-prefix")[0].strip())


def uncommitted():
    """The result files that the index has not, or has otherwise; NoGit as for ``folder``."""
    options = ("-z", "--others", "--modified", "--exclude-standard")
    return sorted(set(_git("ls-files", *options, "--", *FOLDERS)))


def read(folder):
    """``Used`` of ``folder``, a folder like this one, and {path: why} of what is left out."""
    left_out = {}
    return Used(*(_read(folder, kind, left_out) for kind in KINDS)), left_out


def _read(folder, kind, left_out):
    check = jsonschema.Draft7Validator(json.loads(kind.schema.read_text()))
    used = []
    for path in sorted(Path(folder, kind.folder).glob("*/*.json")):
        name = str(path.relative_to(folder))
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
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
        elif result.get("status", "finished") != "finished":
            left_out[name] = "of a run that stopped: %s" % result.get("error", "")
        else:
            used.append(Committed(name, path.parent.name, result))
    return used
