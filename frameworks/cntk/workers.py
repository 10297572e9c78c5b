"""Data parallelism in CNTK: workers that share every batch and add up gradients.

Idiom: ``data_parallel_distributed_learner`` around the plain learner adds up the gradients of all
    workers, here through MPI, on GPUs through NCCL (not tested).
Start: ``mpiexec -n 2 python``.
Average: over the rows of all workers, which the learner counts; so is the trainer's loss. Nothing
    is left to weight.
Weights: each worker's own. Nothing compares them.
Surprise: a worker must end with ``Communicator.finalize``, or mpiexec takes its end for a crash.
"""

import atexit
import os
import sys

import cntk as C
import numpy as np
from cntk import distributed


def launcher(workers, command):
    """The command that runs a command as so many workers.

    ``--quiet``: the process that starts this says itself that a worker died. The others: more
    workers than cores, all cores for each of them, and root, as in a container.
    """
    together = ["mpiexec", "--quiet", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"]
    return [*together, "-n", str(workers), *command]


def rank():
    """This worker's number, from 0."""
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def finish():
    """Leave MPI; but where an exception ends this worker, mpiexec must end the others."""
    if not hasattr(sys, "last_value"):
        distributed.Communicator.finalize()


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    """
    share = slice(rank, None, workers)
    atexit.register(finish)

    def configure(lane, threads, seed):
        """As the module does."""
        return dict(module.configure(lane, threads, seed), workers=workers)

    def symbol(settings, hp):
        """The network, with dropout masks of this worker's own."""
        return module.symbol(dict(settings, seed=settings["seed"] + 2**16 * rank), hp)

    def loss(network, settings, hp, weights):
        """The model with its learner wrapped."""
        *others, trainer = module.loss(network, settings, hp, weights)
        (learner,) = trainer.parameter_learners
        learner = distributed.data_parallel_distributed_learner(learner)
        return (*others, C.Trainer(trainer.model, trainer.loss_function, learner))

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        whole = np.ascontiguousarray  # takes no steps through an array
        return module.train(model, ((whole(x[share]), whole(y[share])) for x, y in batches))

    return dict(configure=configure, symbol=symbol, loss=loss, train=train)
