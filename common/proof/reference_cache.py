"""What the reference computed, kept on disk: it does not depend on the framework under test.

Nor on the NumPy beside it. All environments are held to the same numbers, whoever computed them.
"""

import hashlib
import json
import os

import numpy as np

from common.proof import basis
from common.system import machine
from common.system.files import atomic_write, cache_folder


def fingerprint(model, threads):
    """A sha256 of what the reference rests on: the code, threads, the CPU."""
    rests_on = [basis.shared(model.name), model.name, threads, machine.cpu()]
    return hashlib.sha256(json.dumps(rests_on).encode()).hexdigest()


class ReferenceCache(dict):
    """A dict of arrays, found in the cache folder and written back by ``save``."""

    def __init__(self, model, threads):
        name = "%s-%s.npz" % (model.name, fingerprint(model, threads)[:16])
        self.path = os.path.join(cache_folder(), "references", name)
        try:
            with open(self.path, "rb") as file:
                archive = np.load(file, allow_pickle=False)
                super().__init__((key, archive[key]) for key in archive.files)
        except Exception:  # none yet, or one that is spoilt: it is made anew
            super().__init__()
        self.found = set(self)

    def save(self):
        """Write it, if there is more than was found; of two at once the last one is kept."""
        if set(self) - self.found:
            with atomic_write(self.path) as file:
                np.savez(file, **self)
            self.found = set(self)
