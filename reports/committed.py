"""The committed result files: read, checked, and named where they cannot be used."""

import json
from collections import namedtuple
from pathlib import Path

import jsonschema

from common.run.results import SCHEMA_VERSION

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SCHEMA = HERE / "result.schema.json"

Committed = namedtuple("Committed", "path machine result")
Committed.__doc__ = """A result file that can be used.

path: where it lies, from ``reports/`` on.
machine: the name of its folder.
result: its content, a dict, as ``result.schema.json`` has it.
"""


def read(folder=RESULTS):
    """All usable result files under ``folder``, and {path: why} of those that are left out."""
    check = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
    used, left_out = [], {}
    for path in sorted(Path(folder).glob("*/*.json")):
        name = str(path.relative_to(Path(folder).parent))
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            left_out[name] = "not JSON (%s)" % error
            continue
        version = result.get("schema") if isinstance(result, dict) else None
        if version != SCHEMA_VERSION:
            left_out[name] = "of schema version %r, not %d" % (version, SCHEMA_VERSION)
            continue
        problem = jsonschema.exceptions.best_match(check.iter_errors(result))
        if problem:
            where = "/".join(str(part) for part in problem.absolute_path) or "the whole"
            left_out[name] = "not a result: %s: %s" % (where, problem.message[:100])
        elif result["status"] != "finished":
            left_out[name] = "of a run that stopped: %s" % result.get("error", "")
        else:
            used.append(Committed(name, path.parent.name, result))
    return used, left_out
