"""A cache of the reference's results on disk, shared by all environments.

The results depend neither on the framework under test nor on the version of NumPy beside it.
"""

import hashlib
import json
import os
import sys

import numpy as np

import frameworks
from common.proof import basis
from common.system import machine, modules, source
from common.system.errors import InputError
from common.system.files import atomic_write, cache_folder


def fingerprint(model, threads):
    """A sha256 of everything the reference depends on: the code, the threads, the CPU."""
    facts = frameworks.ENVIRONMENTS[frameworks.REFERENCE]
    rounding = source.code_sha256(frameworks.path(facts, lane) for lane in modules.MIXED)
    cpu = [machine.facts().get(key) for key in ("cpu", "cpu_family", "cpu_model", "isa")]
    rests_on = [basis.shared(model.name), rounding, model.name, threads, cpu]
    return hashlib.sha256(json.dumps(rests_on).encode()).hexdigest()


class ReferenceCache(dict):
    """A dict of arrays, read from the cache folder and written back by ``save``."""

    def __init__(self, model, threads):
        name = "%s-%s.npz" % (model.name, fingerprint(model, threads)[:16])
        self.path = os.path.join(cache_folder(), "references", name)
        try:
            with open(self.path, "rb") as file:
                archive = np.load(file, allow_pickle=False)
                super().__init__((key, archive[key]) for key in archive.files)
        except Exception:  # there is none yet, or it is damaged: start with an empty one
            super().__init__()
        self.found = set(self)

    def save(self):
        """Write it if there is anything new. If two processes write, the last one wins.

        Results that cannot be kept are computed again the next time; that is no error.
        """
        if set(self) - self.found:
            try:
                with atomic_write(self.path) as file:
                    np.savez(file, **self)
            except (InputError, OSError) as error:
                print("the reference's results are not kept: %s" % error, file=sys.stderr)
            self.found = set(self)
