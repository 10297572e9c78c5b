"""Data parallelism in JAX: each process holds a share of every batch, as a part of one array.

Idiom: a mesh of all processes' devices, and arrays with shardings: batches are split, weights are
    copies. The compiled step is that of one process; XLA puts the exchange into it, here through
    gloo, on GPUs through NCCL (not tested).
Start: ``jax.distributed.initialize`` in each process, before the first device is made.
Average: every mean is that of the whole batch: of losses, of targets that count, in batch
    normalisation; and a norm to clip to is that of the whole gradient.
Weights: each process's own. Nothing compares them.
Masks: a key is the same in all processes and gives the masks of the whole batch.
Surprise: JAX takes shares of unequal size. Each process then takes the whole array to be as many
    times its own share as there are workers, and the result is garbage without an error.
"""

import os

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SHARES_STATISTICS = True  # batch normalisation is by those of the whole batch
EQUAL_SHARES = True  # the batch's size must be a multiple of the number of workers


def environ(rank, addresses, folder):
    """The environment variables of a worker; all meet at the first one's address.

    ``initialize`` reads the first of them by itself, but not these others.
    """
    return {
        "JAX_COORDINATOR_ADDRESS": addresses[0],
        "JAX_NUM_PROCESSES": str(len(addresses)),
        "JAX_PROCESS_ID": str(rank),
    }


def rank():
    """This worker's number, from 0."""
    return int(os.environ["JAX_PROCESS_ID"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches and takes its share of each.
    """
    if "JAX_PROCESS_ID" in os.environ and not jax.distributed.is_initialized():
        jax.distributed.initialize(num_processes=workers, process_id=rank)

    def sharding(*axes):
        return NamedSharding(Mesh(np.array(jax.devices()), ("batch",)), PartitionSpec(*axes))

    def configure(lane, threads, seed):
        """As the module does."""
        return dict(module.configure(lane, threads, seed), workers=workers)

    def loss(network, settings, hp, weights):
        """The model with a copy of its state on every device."""
        model = module.loss(network, settings, hp, weights)
        return dict(model, state=copied(model["state"]))

    def copied(tree):
        """The same arrays on every device; ``device_put`` would refuse random keys."""
        return jax.jit(lambda tree: tree, out_shardings=sharding())(tree)

    def share(array):
        """This worker's share, as a part of the whole array."""
        if len(array) % workers:  # JAX would not notice
            raise ValueError("%d workers cannot share %d rows equally" % (workers, len(array)))
        return jax.make_array_from_process_local_data(sharding("batch"), array[rank::workers])

    def train(model, batches):
        """One pass over the batches; yields the loss of the whole batch."""
        return module.train(model, ((share(x), share(y)) for x, y in batches))

    return dict(configure=configure, loss=loss, train=train)
