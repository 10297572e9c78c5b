"""The proofs on record as a wall, and beside it a planted mistake that fails."""

from collections import namedtuple

import frameworks
from common.networks import MODELS
from common.proof.contract import LANES
from common.proof.rungs import RUNGS
from common.records import records
from common.system import modules
from reports import port, tables

# A certificate's state on record: {state: (a brick's text, the class that colours it)}.
STATES = {
    records.FRESH: ("✓", "ok"),
    records.DUE: ("✓", "ok"),
    records.STALE: ("†", "old"),
    records.MISSING: ("·", "none"),
}

Brick = namedtuple("Brick", "text kind says")
Brick.__doc__ = """One certificate on record.

text, kind: what is shown, and its class.
says: the same in words.
"""


def wall():
    """(the networks, [(environment, [[Brick, one for each lane] for each network, or None])])."""
    without_gpu = [name for name, facts in frameworks.ENVIRONMENTS.items() if not facts.gpu]
    rows = []
    for name in without_gpu:
        cells = [
            [_brick(name, model, lane) for lane in LANES] if modules.has(name, model) else None
            for model in MODELS
        ]
        rows.append((name, cells))
    return list(MODELS.values()), rows


def _brick(name, model, lane):
    proof = records.Proof(records.CERTIFICATE, name, model, lane)
    record = proof.read()
    if record is None:
        return Brick(*STATES[records.MISSING], "lane %s: no certificate on record" % lane)
    rungs = record["rungs"]
    passed = sum(rung["passed"] for rung in rungs)
    says = "lane %s: %d of %d rungs, %s" % (lane, passed, len(rungs), record.get("made", "")[:10])
    if passed < len(rungs):
        return Brick("✗", "no", says)
    state = proof.state()
    if state == records.STALE:
        says += "; the code has changed since, or a later proof failed"
    return Brick(*STATES[state], says)


def passed(rows):
    """How many certificates are on record, and for how many the code has changed since."""
    bricks = [brick for _, cells in rows for lanes in cells if lanes for brick in lanes]
    recorded = [brick for brick in bricks if brick.kind != "none"]
    return len(recorded), sum(1 for brick in recorded if brick.kind == "old")


Failure = namedtuple("Failure", "module mistake says hunks rungs")
Failure.__doc__ = """A planted mistake, and how far its certificate gets.

mistake, says: its name, and what it is.
hunks: [(wrong lines, right lines)] of the module.
rungs: [(name, "ok" or "no")], up to the first that fails.
"""


def failure(module, model=MODELS["cnn"], rung="momentum"):
    """A trap of a module that this rung caught, as a ``Failure``; None if there is none on record.

    The mistake changes one line, and the rungs before it pass.
    """
    record = tables.planted(model).get(module.key)
    traps = port.traps(module, rung, {module.key: record}) if record else []
    for _, _, name, hunks in traps:
        lines = [line for wrong, right in hunks for line in wrong + right]
        if len(lines) == 2 and all(map(str.strip, lines)) and name in record["own"]:
            caught = record["own"][name][1]
            order = list(rungs_of(module.key, model.name))
            at = order.index(caught)
            rungs = [(one, "ok") for one in order[:at]] + [(caught, "no")]
            return Failure(module, name, port.seen(caught)[0], hunks, rungs)
    return None


def rungs_of(name, network):
    """The rungs that a module climbs, from its certificate on record."""
    record = records.Proof(records.CERTIFICATE, name, network, LANES[0]).read()
    return [rung["rung"] for rung in record["rungs"]] if record else list(RUNGS)


def caught():
    """(mistakes planted in all networks and environments, how many were caught, false alarms)."""
    planted = found = alarms = 0
    for model in MODELS.values():
        for record in tables.planted(model).values():
            pairs = [*record["outside"].values(), *record["own"].values()]
            planted += len(pairs)
            found += sum(1 for _, rung in pairs if rung)
            alarms += sum(1 for rungs in record["false_alarms"].values() if rungs)
    return planted, found, alarms


def kinds():
    """How many different mistakes are on record, without the frameworks' traps."""
    planted = (tables.planted(model).values() for model in MODELS.values())
    return len({name for records in planted for record in records for name in record["outside"]})
