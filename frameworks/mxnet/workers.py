"""Data parallelism in MXNet, with Gluon: workers that share every batch and add up gradients.

Idiom: a KVStore of type ``dist_sync`` between the gradients and the update: each worker pushes its
    gradients to a server and pulls the sums, over TCP.
Start: one scheduler, a server and the workers, all with these variables, which ``tools/launch.py``
    of MXNet's sources sets as well. ``import mxnet`` is all that a scheduler or a server runs.
Average: the store adds. So each gradient is weighted with its worker's share of the targets.
Weights: each worker's own. A ``Trainer`` that is given a store sends the first worker's, but not
    before its first step, when the gradients have been computed with the worker's own.
Surprise: by default such a trainer leaves the update to the server, which gets the optimiser once.
    A new learning rate never reaches it, and another batch size raises an error.
"""

import itertools
import os
import sys

import mxnet as mx
from mxnet import gluon


def servers(addresses, folder):
    """The processes that workers need besides themselves: [(command, environment variables)]."""
    command = [sys.executable, "-c", "import mxnet"]
    roles = "scheduler", "server"
    return [(command, dict(_cluster(addresses), DMLC_ROLE=role)) for role in roles]


def environ(rank, addresses, folder):
    """The environment variables of a worker; all meet at the scheduler's address."""
    return dict(_cluster(addresses), DMLC_ROLE="worker", DMLC_TASK_ID=str(rank))


def _cluster(addresses):
    host, _, port = addresses[0].partition(":")
    place = {"DMLC_PS_ROOT_URI": host, "DMLC_PS_ROOT_PORT": port, "DMLC_INTERFACE": "lo"}
    return dict(place, DMLC_NUM_SERVER="1", DMLC_NUM_WORKER=str(len(addresses)))


def rank():
    """This worker's number, from 0; the store gives it another one."""
    return int(os.environ["DMLC_TASK_ID"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share, weight, store, keys = slice(rank, None, workers), 1.0, None, itertools.count()

    class Trainer(gluon.Trainer):
        """A trainer that updates with the gradients of the whole batch."""

        stored = None  # [(key, gradient)], in the order of all workers

        def allreduce_grads(self, batch_size=1):
            """Add up the gradients of all workers, as parts of the whole batch's mean."""
            if self.stored is None:
                trained = [p for p in self.optimizer.param_dict.values() if p.grad_req != "null"]
                self.stored = [(next(keys), parameter.grad()) for parameter in trained]
                for key, gradient in self.stored:
                    store.init(key, gradient)
            for key, gradient in self.stored:
                store.push(key, gradient * (weight / batch_size))
                store.pull(key, gradient)

        def step(self, batch_size):
            """Update with the mean over the whole batch; ``batch_size`` is that of the share."""
            self.allreduce_grads(batch_size)
            self.update(1)

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with a trainer that exchanges gradients."""
        nonlocal store
        if store is None:
            store = mx.kv.create("dist_sync")
        network, criterion, trainer, *others = module.loss(network, settings, hp, weights)
        trainer = Trainer(network.collect_params(), trainer.optimizer, kvstore=None)
        return (network, criterion, trainer, *others)

    def shares(batches):
        """This worker's share of each batch, whose part of the targets is its weight."""
        nonlocal weight
        for x, y in batches:
            weight = counted(y[share]) / counted(y)
            yield x[share], y[share]

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        key = next(keys)
        store.init(key, mx.nd.zeros(1))
        for step_loss in module.train(model, shares(batches)):
            whole = weight * step_loss.as_nd_ndarray().reshape(1)
            store.push(key, whole)
            store.pull(key, whole)
            yield whole.as_np_ndarray()  # float() rejects a legacy NDArray

    return dict(configure=configure, loss=loss, train=train)
