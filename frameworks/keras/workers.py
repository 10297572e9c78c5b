"""Data parallelism in Keras 3 on JAX: each process holds a share of every batch.

Idiom: ``DataParallel`` is a distribution for all models; after that, ``train_on_batch`` takes this
    process's share. XLA puts the exchange into the compiled step, here through gloo, on GPUs
    through NCCL (not tested).
Start: ``keras.distribution.initialize`` in each process, before JAX makes its first device.
Average: every mean is that of the whole batch: of losses, of targets that count, in batch
    normalisation; and a norm to clip to is that of the whole gradient.
Weights: each process's own. Nothing compares them.
Surprise: only JAX has it. On TensorFlow, ``fit`` and ``train_on_batch`` fail in the scope of its
    ``MultiWorkerMirroredStrategy``; a loop of your own works there.
"""

import os

import jax
import keras

SHARES_STATISTICS = True  # batch normalisation is by those of the whole batch
EQUAL_SHARES = True  # the size of a batch must be a multiple of the number of workers


def environ(rank, addresses, folder):
    """The environment variables of a worker, which Keras knows by these names."""
    return {
        "KERAS_DISTRIBUTION_JOB_ADDRESSES": addresses[0],
        "KERAS_DISTRIBUTION_NUM_PROCESSES": str(len(addresses)),
        "KERAS_DISTRIBUTION_PROCESS_ID": str(rank),
    }


def rank():
    """This worker's number, from 0."""
    return int(os.environ["KERAS_DISTRIBUTION_PROCESS_ID"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    """
    share, distribution = slice(rank, None, workers), None
    if "KERAS_DISTRIBUTION_PROCESS_ID" in os.environ and not jax.distributed.is_initialized():
        keras.distribution.initialize()

    def configure(lane, threads, seed):
        """As the module does."""
        return dict(module.configure(lane, threads, seed), workers=workers)

    def symbol(settings, hp):
        """The network, with a copy of its variables on every device."""
        nonlocal distribution
        if distribution is None:
            distribution = keras.distribution.DataParallel(auto_shard_dataset=False)
            keras.distribution.set_distribution(distribution)
        return module.symbol(settings, hp)

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        for x, y in batches:
            if len(x) % workers:  # JAX would not notice
                raise ValueError("%d workers cannot share %d rows equally" % (workers, len(x)))
            yield from module.train(model, [(x[share], y[share])])

    def predict(model, x):
        """As the module does: all workers predict every row."""
        keras.distribution.set_distribution(None)
        try:
            return module.predict(model, x)
        finally:
            keras.distribution.set_distribution(distribution)

    return dict(configure=configure, symbol=symbol, train=train, predict=predict)
