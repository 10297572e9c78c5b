"""Data parallelism in TensorFlow 2: workers that share every batch and add up gradients.

Idiom: ``MultiWorkerMirroredStrategy`` keeps a copy of each variable on every worker; its scope
    creates them, its ``run`` runs the step. A tape adds up the gradients of all workers, here
    through gRPC, on GPUs through NCCL (not tested).
Start: the addresses of all workers in ``TF_CONFIG``, before the strategy is made; the strategy
    before the first operation.
Average: ``all_reduce`` adds. So each gradient is weighted with the share of the targets that its
    worker has, and the sum is that of the whole batch's mean loss.
Weights: a new variable takes the first worker's value on all workers; ``assign`` sends nothing.
Masks: a generator that is made in the strategy's scope gives each worker numbers of its own.
Batch normalisation: by the mean and variance of a worker's share.
Surprise: a variable with ``aggregation=MEAN`` averages what is assigned to it. With Adam this is
    the mean of squared gradients where the square of the mean is needed.
"""

import json
import os

import tensorflow as tf


def environ(rank, addresses, folder):
    """The environment variables of a worker, which knows all addresses."""
    task = {"type": "worker", "index": rank}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task})}


def rank():
    """This worker's number, from 0."""
    return json.loads(os.environ["TF_CONFIG"])["task"]["index"]


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share = slice(rank, None, workers)
    strategy = weight = None

    class Tape(tf.GradientTape):
        """A tape that gives the gradients of the whole batch."""

        def gradient(self, target, sources):
            """The sum over all workers, each weighted with its share of the targets."""
            gradients = super().gradient(target, sources)
            gradients = [weight * tf.convert_to_tensor(gradient) for gradient in gradients]
            return tf.distribute.get_replica_context().all_reduce("SUM", gradients)

    def configure(lane, threads, seed):
        """As the module does."""
        return dict(module.configure(lane, threads, seed), workers=workers)

    def symbol(settings, hp):
        """The network, with a copy of its variables on every worker."""
        nonlocal strategy, weight
        if strategy is None:
            strategy = tf.distribute.MultiWorkerMirroredStrategy()
            weight = tf.Variable(0.0)
            tf.GradientTape = Tape
        with strategy.scope():
            return module.symbol(settings, hp)

    def loss(network, settings, hp, weights):
        """The model with a step that all workers run together."""
        with strategy.scope():
            network, graph, *others = module.loss(network, settings, hp, weights)
        step = graph.python_function  # a graph within the workers' graph must not communicate

        @tf.function
        def together(x, y):
            losses = strategy.run(lambda x, y: weight * step(x, y), (x, y))
            return strategy.reduce("SUM", losses, axis=None)

        return (network, together, *others)

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        return module.train(model, shares(batches))

    def shares(batches):
        """This worker's share of each batch, whose part of the targets is its weight."""
        for x, y in batches:
            weight.assign(counted(y[share]) / counted(y))
            yield x[share], y[share]

    def wait(model):
        """Return when the variables can be read: ``sync_devices`` wants the other workers' too."""
        for variable in model[0].trainable_variables:
            variable.numpy()

    return dict(configure=configure, symbol=symbol, loss=loss, train=train, wait=wait)
