"""The committed records: their paths, their content, and whether they are still valid."""

import json
import os
from collections import OrderedDict, namedtuple

import frameworks
from common import networks
from common.proof import basis, contract
from common.system import files, machine, modules

CERTIFICATE, MISTAKES = "certificate", "mistakes"

# The fields of a proof's result that a record keeps.
KEPT = ("versions", "threads", "rungs", "false_alarms", "outside", "own")

# FRESH: the hashes match. DUE: shared code has changed, and continuous integration will repeat the
# proof in its turn. STALE: the framework's own code or pins have changed, a later proof has failed,
# or the record has no hashes. MISSING: no record.
FRESH, DUE, STALE, MISSING = "fresh", "due", "stale", "missing"


class Proof(namedtuple("Proof", "kind name model lane")):
    """A module's certificate in a lane, or the proof that planted mistakes are caught.

    Mistakes are planted in lane same.
    """

    def __str__(self):
        return " ".join((self.name, self.model, self.lane, self.kind))

    @property
    def path(self):
        """The record's file."""
        return self.made_on("cuda" if frameworks.ENVIRONMENTS[self.name].gpu else "cpu")

    def made_on(self, device):
        """The file of a record that was made on this device, as its settings name it."""
        if self.kind == MISTAKES:
            file = os.path.join("mistakes", "%s-%s.json" % (self.name, self.model))
        else:
            file = os.path.join("proofs", self.name, "%s-%s.json" % (self.model, self.lane))
        folder = ["reports"] if device == "cpu" else ["reports", "gpu"]
        return os.path.join(files.ROOT, *(folder + [file]))

    def command(self, threads, out):
        """Python's arguments to make the proof in its environment and write it to ``out``."""
        options = [self.name, "--model", self.model, "--threads", str(threads), "--out", out]
        if self.kind == MISTAKES:
            return ["-m", "common.mistakes"] + options
        return ["-m", "common.proof"] + options + ["--lane", self.lane]

    def rests_on(self):
        """{kind of code: its current hash}."""
        hashes = OrderedDict(
            own=basis.own(self.name, self.model, self.lane), shared=basis.shared(self.model)
        )
        if self.kind == MISTAKES:
            hashes["mistakes"] = basis.mistakes(self.name, self.model)
        return hashes

    def read(self):
        """The record; None if there is none or it cannot be read."""
        try:
            with open(self.path) as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def state(self):
        """``FRESH``, ``DUE``, ``STALE`` or ``MISSING``."""
        record = self.read()
        if record is None:
            return MISSING
        recorded, now = record.get("rests_on") or {}, self.rests_on()  # old records have no hashes
        changed = {kind for kind in now if recorded.get(kind) != now[kind]}
        if not changed:
            return FRESH
        return STALE if "own" in changed else DUE

    def doubt(self):
        """Make an existing record ``STALE``, because the proof has failed."""
        record = self.read()
        if record is not None:
            record["rests_on"] = dict(record.get("rests_on") or {}, own=None)
            files.write_json(self.path, record)

    def write(self, result, rests_on, seconds):
        """Write the record of a proof. result: what its ``command`` wrote.

        rests_on: the hashes before the proof. seconds: how long it took.
        """
        record = OrderedDict(
            framework=self.name,
            model=self.model,
            title=frameworks.ENVIRONMENTS[self.name].title,
            lane=self.lane,
            made=files.now(),
            machine=machine.folder_name(machine.facts()),
            seconds=round(seconds, 1),
            rests_on=rests_on,
        )
        record.update((key, result[key]) for key in KEPT if key in result)
        usual = "cuda" if frameworks.ENVIRONMENTS[self.name].gpu else "cpu"
        device = result.get("settings", {}).get("device", usual)
        files.write_json(self.made_on(device), record)


def proofs(names=(), only=()):
    """Every ``Proof`` of these environments and networks; default: all that need no GPU."""
    without_gpu = [name for name, facts in frameworks.ENVIRONMENTS.items() if not facts.gpu]
    for name in names or without_gpu:
        for model in networks.MODELS:
            if modules.has(name, model) and model in (only or networks.MODELS):
                for lane in contract.LANES:
                    yield Proof(CERTIFICATE, name, model, lane)
                yield Proof(MISTAKES, name, model, contract.LANES[0])
