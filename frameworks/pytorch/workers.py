"""Data parallelism in PyTorch: workers that each take a share of every batch and average gradients.

Idiom: ``torchrun`` starts the workers; ``DistributedDataParallel`` around the network averages the
    gradients while they are computed, here through gloo; on GPUs one takes NCCL.
Surprise: the average is over workers, not over images, so shares must be of equal size. Batch
    normalisation uses the mean and variance of a worker's share; ``SyncBatchNorm``, which would
    share them, does not run on a CPU.
"""

import os
import sys

import torch.distributed as dist
from torch import nn


def launcher(workers):
    """The command before ``-m MODULE ARGUMENTS`` that has each worker run the module: torchrun."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return run + ["--nproc-per-node", str(workers)]


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


def parallel(module, workers, rank):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    """

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with its network wrapped."""
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        network, criterion, optimizer = module.loss(network, settings, hp, weights)
        return Parallel(network), criterion, optimizer

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        share = slice(rank, None, workers)
        shares = ((x[share], y[share]) for x, y in batches)
        for step_loss in module.train(model, shares):
            dist.all_reduce(step_loss)
            yield step_loss / workers

    def predict(model, x):
        """As the module does."""
        return module.predict((model[0].module,) + model[1:], x)

    def weights(model):
        """As the module does."""
        return module.weights((model[0].module,) + model[1:])

    def wait(model):
        """As the module does."""
        module.wait((model[0].module,) + model[1:])

    return dict(
        configure=configure, loss=loss, train=train, predict=predict, weights=weights, wait=wait
    )
