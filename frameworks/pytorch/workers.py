"""Data parallelism in PyTorch: workers that each take a share of every batch and average gradients.

Idiom: ``DistributedDataParallel`` around the network averages the gradients while they are
    computed, here through gloo; on GPUs one takes NCCL (not tested).
Start: these variables, which ``torchrun --nproc-per-node 2`` sets as well.
Average: over workers, not over targets. So each loss is weighted with its share of the targets.
Weights: the wrapper sends those of the first worker to all others.
Batch normalisation: by the mean and variance of a worker's share; ``SyncBatchNorm``, which would
    share them, does not run on a CPU.
"""

import os

import torch.distributed as dist
from torch import nn

SENDS_WEIGHTS = True  # of the first worker to all others


def environ(rank, addresses, folder):
    """The environment variables of a worker; all meet at the first one's address."""
    host, _, port = addresses[0].partition(":")
    place = {"MASTER_ADDR": host, "MASTER_PORT": port}
    return dict(place, RANK=str(rank), WORLD_SIZE=str(len(addresses)))


def rank():
    """This worker's number, from 0."""
    return int(os.environ["RANK"])


class Parallel(nn.parallel.DistributedDataParallel):
    """The network whose gradients are averaged; its layers are reached by their own names."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share, weight = slice(rank, None, workers), 1.0

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with its network wrapped and its loss weighted."""
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        network, criterion, *others = module.loss(network, settings, hp, weights)

        def weighted(*batch):
            return weight * criterion(*batch)

        return (Parallel(network), weighted, *others)

    def shares(batches):
        """This worker's share of each batch, and what its mean counts in the mean of means."""
        nonlocal weight
        for x, y in batches:
            weight = workers * counted(y[share]) / counted(y)
            yield x[share], y[share]

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        for step_loss in module.train(model, shares(batches)):
            dist.all_reduce(step_loss)
            yield step_loss / workers

    def alone(model):
        """The model without the wrapper."""
        return (model[0].module, *model[1:])

    def predict(model, x):
        """As the module does."""
        return module.predict(alone(model), x)

    def weights(model):
        """As the module does."""
        return module.weights(alone(model))

    def wait(model):
        """As the module does."""
        module.wait(alone(model))

    return dict(
        configure=configure,
        loss=loss,
        train=train,
        alone=alone,
        predict=predict,
        weights=weights,
        wait=wait,
    )
