"""A worker with a mistake in it, which it may share: writes the first rung that fails."""

import os
import signal
import sys

from common import networks
from common.proof import shares
from common.proof.reference_cache import ReferenceCache
from common.proof.rungs import Certifier
from common.system import machine, modules, workers


def own_weights(module, rank):
    """Each worker starts from weights of its own."""

    def loss(network, settings, hp, weights):
        drawn = {name: (1 + rank / 8) * w for name, w in weights.items()}
        return module.loss(network, settings, hp, drawn)

    return modules.replaced(module, loss=loss)


def a_step_behind(module, rank):
    """The second worker takes its share of the batch before; of the first batch twice."""

    def late(batches):
        before = None
        for batch in batches:
            yield (before or batch) if rank == 1 else batch
            before = batch

    return modules.replaced(module, train=lambda model, batches: module.train(model, late(batches)))


def same_rows(module, rank):
    """All workers take the first one's rows."""

    def train(model, batches):
        shares = ((x[::TEAM].repeat(TEAM, 0), y[::TEAM].repeat(TEAM, 0)) for x, y in batches)
        return module.train(model, shares)

    return modules.replaced(module, train=train)


def dies(module, rank):
    """The second worker is killed after a step; a file says when."""

    def train(model, batches):
        for step_loss in module.train(model, batches):
            yield step_loss
            if rank == 1:
                open(os.path.join(FOLDER, "died"), "w").close()
                os.kill(os.getpid(), signal.SIGKILL)

    return modules.replaced(module, train=train)


ANYWHERE = {mistake.__name__: mistake for mistake in (own_weights, a_step_behind, same_rows, dies)}


def main(name, model, team, folder, mistake, *rungs):
    global TEAM, FOLDER
    TEAM, FOLDER = int(team), folder
    workers.join(name)
    machine.limit_threads(1)
    model, plain = networks.find(model), modules.load(name, "workers")
    rank = plain.rank()
    known = {trap.name: trap.patches for trap in modules.traps(name, "workers")}
    made = modules.changed(plain, known.get(mistake, ()), folder, "rank%d" % rank)
    module = modules.load(name, model.name)
    functions = made.parallel(module, TEAM, rank, shares.counter(model))
    module = modules.replaced(module, **functions)
    if mistake in ANYWHERE:
        module = ANYWHERE[mistake](module, rank)
    cache = ReferenceCache(model, 1)
    certifier = Certifier(model, 1, cache)
    certifier.take(module, "same")
    # All climb all rungs: a worker that stopped at its own failure would keep the others waiting.
    results = [certifier.climb(rung) for rung in rungs or certifier.rungs]
    failed = next((result for result in results if not result["passed"]), None)
    if rank == 0:
        cache.save()
    with open(os.path.join(folder, str(rank)), "w") as file:
        ran = failed is not None and failed["what"] == "ran"  # it raised an error instead
        file.write("" if failed is None else failed["what"] if ran else failed["rung"])
    print(rank, failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
