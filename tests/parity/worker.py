"""One of two workers of a framework's, with a mistake in them: writes the first rung that fails."""

import os
import sys

from common import networks
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import machine, modules

WORKERS = 2


def main(name, model, folder, mistake, *rungs):
    machine.limit_threads(1)
    model, plain = networks.find(model), modules.load(name, "workers")
    rank = plain.rank()
    known = {trap.name: trap.patches for trap in modules.traps(name, "workers")}
    made = modules.changed(plain, known.get(mistake, ()), folder, "rank%d" % rank)
    module = modules.load(name, model.name)
    module = modules.replaced(module, **made.parallel(module, WORKERS, rank))
    certifier = Certifier(model, 1, ReferenceCache(model, 1))
    certifier.take(module, "same")
    climbed = ((rung, certifier.climb(rung)["passed"]) for rung in rungs or certifier.rungs)
    with open(os.path.join(folder, str(rank)), "w") as file:
        file.write(next((rung for rung, passed in climbed if not passed), ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
