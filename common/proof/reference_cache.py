"""What the reference computed, kept on disk: it does not depend on the framework under test.

Nor on the NumPy beside it. All environments are held to the same numbers, whoever computed them.
"""

import glob
import hashlib
import json
import os

import numpy as np

from common.system import machine
from common.system.files import ROOT, atomic_write, cache_folder

SOURCES = (
    "common/data/*.py",
    "common/networks/**/*.py",
    "common/proof/*.py",
    "frameworks/numpy/*.py",
)


def fingerprint(model, threads):
    """A sha256 of what the reference rests on: sources, threads, the CPU."""
    digest = hashlib.sha256()
    for place in SOURCES:
        for file in sorted(glob.glob(os.path.join(ROOT, place), recursive=True)):
            with open(file, "rb") as source:
                digest.update(source.read())
    digest.update(json.dumps([model.name, threads, machine.cpu()]).encode())
    return digest.hexdigest()


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
