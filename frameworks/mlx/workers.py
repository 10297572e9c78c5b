"""Data parallelism in MLX: workers that each take a share of every batch and average gradients.

Idiom: ``nn.average_gradients`` between the gradients and the optimiser, here through the ring
    backend, TCP from each worker to the next; ``mpi`` and, on GPUs, ``nccl`` are others (not
    tested). MLX wraps nothing, so ``nn.value_and_grad`` is replaced by one that averages,
    while the step is made.
Start: these variables, which ``mlx.launch -n 2 --backend ring`` sets as well.
Average: over workers, not over targets. So each gradient is weighted with its share of the targets.
Weights: nothing sends them. Each worker must start from the same ones.
Batch normalisation: by the mean and variance of a worker's share; MLX has no other.
Surprise: a collective is lazy like everything else. All workers must evaluate the same ones in the
    same order, or they wait for each other for ever.
"""

import json
import os

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map


def environ(rank, addresses, folder):
    """The environment variables of a worker, which finds all addresses in a file."""
    hosts = os.path.join(folder, "hosts.json")
    with open(hosts, "w") as file:
        json.dump([[address] for address in addresses], file)
    return {"MLX_RANK": str(rank), "MLX_HOSTFILE": hosts}


def rank():
    """This worker's number, from 0."""
    return int(os.environ["MLX_RANK"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share, weight = slice(rank, None, workers), [mx.array(1.0)]
    value_and_grad = nn.value_and_grad

    def of_the_whole_batch(network, function):
        """As ``nn.value_and_grad``, but the loss and the gradients are those of the whole batch."""
        of_the_share = value_and_grad(network, function)

        def loss_and_gradients(x, y):
            pair = tree_map(lambda array: weight[0] * array, of_the_share(x, y))
            return nn.average_gradients(pair)

        return loss_and_gradients

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with a step that exchanges gradients."""
        mx.distributed.init(strict=True, backend="ring")
        nn.value_and_grad = of_the_whole_batch
        try:
            network, step, state = module.loss(network, settings, hp, weights)
        finally:
            nn.value_and_grad = value_and_grad
        state.append(weight)  # else it would be a constant of a compiled step
        return network, step, state

    def shares(batches):
        """This worker's share of each batch, and what its mean counts in the mean of means."""
        for x, y in batches:
            weight[0] = mx.array(workers * counted(y[share]) / counted(y))
            yield x[share], y[share]

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        return module.train(model, shares(batches))

    return dict(configure=configure, loss=loss, train=train)
