"""Data parallelism in Chainer: workers that each take a share of every batch and average gradients.

Idiom: ``mpiexec`` starts the workers; ChainerMN's optimiser around the plain one averages the
    gradients once all are computed, through MPI (``naive``), or on GPUs NCCL (``pure_nccl``).
Batch normalisation: ``create_mnbn_model`` has workers share a batch's mean and variance, computed
    from the mean of the squares. Each divides its running variance by its own share's n - 1.
Surprise: the first ``update`` of ChainerMN's optimiser updates nothing. It sends the first worker's
    weights to the others. So the first step's update would be lost.
"""

import os
import sys

import chainermn
import numpy as np


def launcher(workers):
    """The command before ``-m MODULE ARGUMENTS`` that has each worker run the module.

    mpi4py ends all workers when one fails; otherwise the others would wait for it.
    """
    return ["mpiexec", "-n", str(workers), sys.executable, "-m", "mpi4py"]


def rank():
    """This worker's number, from 0."""
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def parallel(module, workers, rank):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    """
    communicator = None

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
        network, criterion, optimizer = module.loss(network, settings, hp, weights)
        optimizer = chainermn.create_multi_node_optimizer(optimizer, communicator)
        optimizer.update()  # which only sends the weights
        return network, criterion, optimizer

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        share = slice(rank, None, workers)
        shares = ((np.ascontiguousarray(x[share]), y[share]) for x, y in batches)
        for step_loss in module.train(model, shares):
            yield communicator.allreduce_obj(float(step_loss)) / workers

    return dict(configure=configure, loss=loss, train=train)
