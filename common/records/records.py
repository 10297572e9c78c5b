"""The committed records: where each one is, what it says, and whether it still holds."""

import json
import os
from collections import OrderedDict, namedtuple

import frameworks
from common import networks
from common.proof import basis, contract
from common.system import files, machine, modules
from common.system.errors import InputError

CERTIFICATE, MISTAKES = "certificate", "mistakes"

# Of a proof's result; the settings and losses of a certificate are left out.
KEPT = ("versions", "threads", "rungs", "false_alarms", "outside", "own")

# A record fits; or what all frameworks share has changed since it was made, and continuous
# integration will come to it; or the framework's own code or pins have; or there is none.
FRESH, DUE, STALE, MISSING = "fresh", "due", "stale", "missing"


class Proof(namedtuple("Proof", "kind name model lane")):
    """What can be proven: a module's certificate in a lane, or that planted mistakes are caught.

    Mistakes are planted in lane same.
    """

    def __str__(self):
        return " ".join((self.name, self.model, self.lane, self.kind))

    @property
    def path(self):
        """The record's file."""
        if self.kind == MISTAKES:
            file = os.path.join("mistakes", "%s-%s.json" % (self.name, self.model))
        else:
            file = os.path.join("proofs", self.name, "%s-%s.json" % (self.model, self.lane))
        return os.path.join(files.ROOT, "reports", file)

    def command(self, threads, out):
        """The arguments of Python that make the proof in its environment, into the file ``out``."""
        options = [self.name, "--model", self.model, "--threads", str(threads), "--out", out]
        if self.kind == MISTAKES:
            return ["-m", "common.mistakes"] + options
        return ["-m", "common.proof"] + options + ["--lane", self.lane]

    def rests_on(self):
        """{what: its hash} as things are now."""
        found = OrderedDict(
            own=basis.own(self.name, self.model, self.lane), shared=basis.shared(self.model)
        )
        if self.kind == MISTAKES:
            found["mistakes"] = basis.mistakes(self.name, self.model)
        return found

    def read(self):
        """The record; None if there is none that can be read."""
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
        recorded, now = record.get("rests_on"), self.rests_on()
        if recorded is None:  # made before records had hashes
            return DUE
        changed = {what for what in now if recorded.get(what) != now[what]}
        if not changed:
            return FRESH
        return STALE if "own" in changed else DUE

    def write(self, result, rests_on, seconds):
        """Make a proof's result, as its ``command`` wrote it, the record.

        rests_on: as things were when the proof began. seconds: how long it took.
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
        files.write_json(self.path, record)


def _lanes(name, model):
    """The lanes of a module that this machine can run."""
    for lane in contract.ALL_LANES:
        try:
            modules.check_lane(name, lane, model)
        except InputError:
            continue
        yield lane


def proofs(names=(), only=()):
    """Every ``Proof`` that can be made without a GPU, of these environments and networks or all."""
    for name in names or [one.name for one in frameworks.ENVIRONMENTS.values() if not one.gpu]:
        for model in networks.MODELS:
            if modules.has(name, model) and model in (only or networks.MODELS):
                for lane in _lanes(name, model):
                    yield Proof(CERTIFICATE, name, model, lane)
                yield Proof(MISTAKES, name, model, contract.LANES[0])
