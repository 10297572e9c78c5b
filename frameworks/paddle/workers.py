"""Data parallelism in PaddlePaddle: workers that each take a share of every batch and average.

Idiom: ``paddle.DataParallel`` around the network averages the gradients while they are computed,
    here through gloo; on GPUs one takes NCCL (not tested).
Start: these variables, which ``paddle.distributed.launch --nproc_per_node 2`` sets as well.
Average: over workers, not over targets. So each loss is weighted with its share of the targets.
Weights: the wrapper sends those of the first worker to all others.
Batch normalisation: by the mean and variance of a worker's share; ``SyncBatchNorm``, which would
    share them, has no kernel for CPUs.
"""

import os

import paddle
import paddle.distributed as dist

SENDS_WEIGHTS = True  # of the first worker to all others


def environ(rank, addresses, folder):
    """The environment variables of a worker; all meet at the first one's address."""
    return {
        "PADDLE_MASTER": addresses[0],
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(len(addresses)),
        "PADDLE_CURRENT_ENDPOINT": addresses[rank],
        "PADDLE_TRAINER_ENDPOINTS": ",".join(addresses),
        "PADDLE_DISTRI_BACKEND": "gloo",
    }


def rank():
    """This worker's number, from 0."""
    return int(os.environ["PADDLE_TRAINER_ID"])


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
            dist.init_parallel_env()
        network, criterion, *others = module.loss(network, settings, hp, weights)

        def weighted(*batch):
            return weight * criterion(*batch)

        return (paddle.DataParallel(network), weighted, *others)

    def shares(batches):
        """This worker's share of each batch, and what its mean counts in the mean of means."""
        nonlocal weight
        for x, y in batches:
            weight = workers * counted(y[share]) / counted(y)
            yield x[share].copy(), y[share].copy()  # to_tensor takes no steps through an array

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        for step_loss in module.train(model, shares(batches)):
            dist.all_reduce(step_loss)
            yield step_loss / workers

    def alone(model):
        """The model without the wrapper."""
        return (model[0]._layers, *model[1:])

    def predict(model, x):
        """As the module does."""
        return module.predict(alone(model), x)

    def weights(model):
        """As the module does."""
        return module.weights(alone(model))

    return dict(
        configure=configure, loss=loss, train=train, alone=alone, predict=predict, weights=weights
    )
