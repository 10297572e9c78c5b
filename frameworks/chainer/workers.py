"""Data parallelism in Chainer: workers that each take a share of every batch and average gradients.

Idiom: ``mpiexec`` starts the workers; ChainerMN's optimiser around the plain one averages the
    gradients when they are all there, through MPI (``naive``), or on GPUs NCCL (``pure_nccl``).
Batch normalisation: ``create_mnbn_model`` has workers share a batch's mean and variance, computed
    from the mean of the squares. What each keeps of that variance it divides by its own share's
    n - 1.
Surprise: the first ``update`` of ChainerMN's optimiser updates nothing. It sends the first worker's
    weights to the others. So the step after which it is called first would be lost.
"""

import os
import sys

import chainermn
import numpy as np


def launcher(workers):
    """What stands before ``-m MODULE`` and its arguments to have each worker run it.

    mpi4py ends all workers when one has failed; else the others would wait for it.
    """
    return ["mpiexec", "-n", str(workers), sys.executable, "-m", "mpi4py"]


def rank():
    """Which of the workers this process is, from 0."""
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def parallel(module, workers, rank):
    """The functions of ``module`` that differ where it runs as so many workers: {name: function}.

    Each worker is given all batches, which it must be able to share equally, and predicts alone.
    """
    communicator = None

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        if "running_variance" in settings and workers == 2:
            settings.update(running_variance="unbiased halves", variance="squares")
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model, its optimiser wrapped."""
        nonlocal communicator
        if communicator is None:
            communicator = chainermn.create_communicator("naive")
        if "running_variance" in settings:
            network = chainermn.links.create_mnbn_model(network, communicator)
            network.to_device(settings["chainer_device"])  # the new links were made elsewhere
        network, criterion, optimizer = module.loss(network, settings, hp, weights)
        optimizer = chainermn.create_multi_node_optimizer(optimizer, communicator)
        optimizer.update()  # the weights are the same everywhere by then
        return network, criterion, optimizer

    def train(model, batches):
        """One pass over the batches, of each this worker's share; yields the loss of the whole."""
        share = slice(rank, None, workers)
        shares = ((np.ascontiguousarray(x[share]), y[share]) for x, y in batches)
        for step_loss in module.train(model, shares):
            yield communicator.allreduce_obj(float(step_loss)) / workers

    return dict(configure=configure, loss=loss, train=train)
