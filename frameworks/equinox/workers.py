"""Data parallelism in Equinox, on JAX: each process holds a share of every batch.

Idiom: a mesh of all processes' devices, and arrays with shardings: batches are split, the network
    and the optimiser's state are copies, which ``eqx.filter_shard`` makes of all arrays in a tree.
    The compiled step is that of one process; XLA puts the exchange into it, here through gloo, on
    GPUs through NCCL (not tested).
Start: ``jax.distributed.initialize`` in each process, before the first device is made.
Average: every mean is that of the whole batch: of losses, of targets that count, in batch
    normalisation; and a norm to clip to is that of the whole gradient.
Weights: each process's own. Nothing compares them.
Masks: a key is the same in all processes and gives the masks of the whole batch.
Surprise: JAX takes shares of unequal size. Each process then takes the whole array to be as many
    times its own share as there are workers, and the result is garbage without an error.
"""

import os

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from frameworks.jax.workers import EQUAL_SHARES, SHARES_STATISTICS, environ, rank

__all__ = ["EQUAL_SHARES", "SHARES_STATISTICS", "environ", "rank", "parallel"]


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
        """The model with a copy of its arrays on every device."""
        model = module.loss(network, settings, hp, weights)
        # Compiled, because outside a compiled function a random key cannot go to other processes.
        copied = eqx.filter_jit(lambda tree: eqx.filter_shard(tree, sharding()))
        return dict(model, **copied({part: model[part] for part in ("network", "state", "key")}))

    def share(array):
        """This worker's share, as a part of the whole array."""
        if len(array) % workers:  # JAX would not notice
            raise ValueError("%d workers cannot share %d rows equally" % (workers, len(array)))
        return jax.make_array_from_process_local_data(sharding("batch"), array[rank::workers])

    def train(model, batches):
        """One pass over the batches; yields the loss of the whole batch."""
        return module.train(model, ((share(x), share(y)) for x, y in batches))

    return dict(configure=configure, loss=loss, train=train)
