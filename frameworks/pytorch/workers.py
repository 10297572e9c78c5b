"""Data parallelism in PyTorch: workers that each take a share of every batch and average gradients.

Idiom: ``torchrun`` starts the workers; ``DistributedDataParallel`` around the network averages the
    gradients while they are computed, here through gloo; on GPUs one takes NCCL.
Surprise: the average is over workers, not over images, so shares must be of equal size. Batch
    normalisation's mean and variance are those of a worker's share alone; ``SyncBatchNorm``, which
    would share them, takes no CPU.
"""

import os
import sys

import torch.distributed as dist
from torch import nn


def launcher(workers):
    """What stands before ``-m MODULE`` and its arguments to have each worker run it: torchrun."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return run + ["--nproc-per-node", str(workers)]


def rank():
    """Which of the workers this process is, from 0."""
    return int(os.environ["RANK"])


class Parallel(nn.parallel.DistributedDataParallel):
    """The network whose gradients are averaged; its layers are reached by their own names."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)


def parallel(module, workers, rank):
    """The functions of ``module`` that differ where it runs as so many workers: {name: function}.

    Each worker is given all batches, which it must be able to share equally, and predicts alone.
    """

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model, its network wrapped."""
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        network, criterion, optimizer = module.loss(network, settings, hp, weights)
        return Parallel(network), criterion, optimizer

    def train(model, batches):
        """One pass over the batches, of each this worker's share; yields the loss of the whole."""
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
