"""Data parallelism in Lightning, on PyTorch: workers that each take a share of every batch.

Idiom: ``strategy="ddp"`` in the trainer. It starts the workers, or takes those that are there,
    wraps the module in PyTorch's ``DistributedDataParallel``, and averages gradients through gloo,
    on GPUs through NCCL (not tested).
Start: these variables, which ``torchrun --nproc-per-node 2`` sets as well.
Average: over workers, not over targets. So each loss is weighted with its share of the targets.
Weights: the wrapper sends those of the first worker to all others.
Seeds: with this strategy, each ``fit`` goes back to the seed that ``seed_everything`` has left in
    ``PL_GLOBAL_SEED``. A second ``fit`` would draw the masks of the first once more.
Surprise: a trainer with several workers puts its own sampler into a ``DataLoader``, which shuffles
    in training although the loader was told not to: ``use_distributed_sampler=False``.
"""

import os

import lightning
import torch.distributed as dist

SENDS_WEIGHTS = True  # of the first worker to all others


def environ(rank, addresses, folder):
    """The environment variables of a worker; all meet at the first one's address."""
    host, _, port = addresses[0].partition(":")
    place = {"MASTER_ADDR": host, "MASTER_PORT": port, "WORLD_SIZE": str(len(addresses))}
    return dict(place, RANK=str(rank), LOCAL_RANK=str(rank), NODE_RANK="0")


def rank():
    """This worker's number, from 0."""
    return int(os.environ["RANK"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share = slice(rank, None, workers)

    def configure(lane, threads, seed):
        """As the module does, with dropout masks of this worker's own."""
        settings = module.configure(lane, threads, seed + 2**16 * rank)
        os.environ.pop("PL_GLOBAL_SEED")  # else each ``fit`` would draw the same masks
        return dict(settings, seed=seed, workers=workers)

    def loss(network, settings, hp, weights):
        """The model with its loss weighted, and a trainer that knows the other workers."""
        classifier, trainer = module.loss(network, settings, hp, weights)
        criterion = classifier.criterion

        def weighted(scores, targets):
            y, weight = targets
            return weight * criterion(scores, y)

        del classifier.criterion  # a module's attribute can only be replaced by a module
        classifier.criterion = weighted
        together = lightning.Trainer(
            strategy="ddp",
            accelerator=settings["device"],
            devices=workers,
            use_distributed_sampler=False,
            precision="32-true",
            benchmark=settings["autotune"],
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=trainer.callbacks,
        )
        return classifier, together, trainer

    def shared(x, y):
        """This worker's share of a batch, and what its mean counts in the mean of means."""
        return x[share], (y[share], workers * counted(y[share]) / counted(y))

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        for step_loss in module.train(model[:2], (shared(*batch) for batch in batches)):
            dist.all_reduce(step_loss)
            yield step_loss / workers

    def alone(model):
        """The model with the trainer of one process."""
        return model[0], model[2]

    def predict(model, x):
        """As the module does."""
        return module.predict(alone(model), x)

    return dict(configure=configure, loss=loss, train=train, alone=alone, predict=predict)
