"""Data parallelism in Chainer: workers that each take a share of every batch and average gradients.

Idiom: ChainerMN's optimiser around the plain one averages the gradients once all are computed,
    through MPI (``naive``), or on GPUs NCCL (``pure_nccl``, not tested).
Start: ``mpiexec -n 2 python -m mpi4py``.
Average: over workers, not over targets. So each loss is weighted with its share of the targets.
Weights: the optimiser sends those of the first worker to all others.
Batch normalisation: ``create_mnbn_model`` has workers share a batch's mean and variance, computed
    from the mean of the squares. Each divides its running variance by its own share's n - 1.
Surprise: the first ``update`` of ChainerMN's optimiser updates nothing. It sends the first worker's
    weights to the others. So the first step's update would be lost.
"""

import os

import chainermn
import numpy as np

SHARES_STATISTICS = True  # batch normalisation is by those of the whole batch
SENDS_WEIGHTS = True  # of the first worker to all others


def launcher(workers, command):
    """The command that runs a command of Python's as so many workers.

    mpi4py ends all workers when one fails; otherwise the others would wait for it. ``--quiet``:
    the process that starts this says itself that a worker died. The others: more workers than
    cores, all cores for each of them, and root, as in a container.
    """
    python, *rest = command
    together = ["mpiexec", "--quiet", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"]
    return [*together, "-n", str(workers), python, "-m", "mpi4py", *rest]


def rank():
    """This worker's number, from 0."""
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share, weight, communicator = slice(rank, None, workers), 1.0, None

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        if "running_variance" in settings and workers == 2:
            settings.update(running_variance="unbiased halves", variance="squares")
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with its optimiser wrapped."""
        nonlocal communicator
        if communicator is None:
            communicator = chainermn.create_communicator("naive")
        if "running_variance" in settings:
            network = chainermn.links.create_mnbn_model(network, communicator)
            network.to_device(settings["chainer_device"])  # the new links were made elsewhere
        network, criterion, optimizer, *others = module.loss(network, settings, hp, weights)

        def weighted(*batch):
            return weight * criterion(*batch)

        optimizer = chainermn.create_multi_node_optimizer(optimizer, communicator)
        optimizer.update()  # which only sends the weights
        return (network, weighted, optimizer, *others)

    def shares(batches):
        """This worker's share of each batch, and what its mean counts in the mean of means."""
        nonlocal weight
        for x, y in batches:
            weight = workers * counted(y[share]) / counted(y)
            yield np.ascontiguousarray(x[share]), y[share]

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        for step_loss in module.train(model, shares(batches)):
            yield communicator.allreduce_obj(float(step_loss)) / workers

    return dict(configure=configure, loss=loss, train=train)
