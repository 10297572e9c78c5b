"""Data parallelism in Caffe2: workers that share every batch and add up gradients.

Idiom: ``Allreduce`` operators in the net, between the gradients and the optimiser's operators, here
    through gloo. ``data_parallel_model`` puts them there, too, but makes the net itself.
Start: Caffe2 has no launcher. The workers meet in a folder, by a ``FileStoreHandler``.
Average: ``Allreduce`` adds. So the gradient of each loss is its share of the targets, not 1.
Weights: each worker's own. Nothing compares them.
Surprise: keys in the folder must be new. With those of an earlier model or run, workers connect to
    addresses where nobody listens.
"""

import os

import numpy as np
from caffe2.python import model_helper, workspace


def environ(rank, addresses, folder):
    """The environment variables of a worker; Caffe2 has no names for them."""
    return {"SHARD_ID": str(rank), "FILE_STORE_PATH": folder}


def rank():
    """This worker's number, from 0."""
    return int(os.environ["SHARD_ID"])


def parallel(module, workers, rank, counted):
    """The functions of ``module`` that differ with several workers: {name: function}.

    Each worker gets all batches, takes its share of each, and predicts on its own.
    counted: the number of targets that a mean loss is over.
    """
    share = slice(rank, None, workers)
    add_gradients = model_helper.ModelHelper.AddGradientOperators

    def add_gradients_of_all(model, losses):
        """Add operators for the gradients of the whole batch, and for its loss."""
        init, net, (loss,) = model.param_init_net, model.net, losses
        place = dict(path=os.environ["FILE_STORE_PATH"], prefix=net.Name())
        store = init.FileStoreHandlerCreate([], "store", **place)
        numbers = dict(size=workers, rank=rank)
        world = init.CreateCommonWorld(store, "world", engine="GLOO", interface="lo", **numbers)
        init.ConstantFill([], "weight", value=1.0)  # of no dimensions, like the loss
        add_gradients(model, {loss: "weight"})
        net.Mul([loss, "weight"], loss)
        for blob in [loss, *model.param_to_grad.values()]:
            net.Allreduce([world, blob], blob, engine="GLOO")

    def configure(lane, threads, seed):
        """As the module does."""
        return dict(module.configure(lane, threads, seed), workers=workers)

    def symbol(settings, hp):
        """The networks, with dropout masks of this worker's own."""
        return module.symbol(dict(settings, seed=settings["seed"] + 2**16 * rank), hp)

    def loss(network, settings, hp, weights):
        """The model with a net that exchanges gradients."""
        model_helper.ModelHelper.AddGradientOperators = add_gradients_of_all
        return module.loss(network, settings, hp, weights)

    def train(model, batches):
        """One pass over this worker's shares of the batches; yields the loss of the whole batch."""
        train_net, _, device = model

        def shares():
            for x, y in batches:
                workspace.SwitchWorkspace(train_net.Name())
                weight = counted(y[share]) / counted(y)
                workspace.FeedBlob("weight", np.array(weight, np.float32), device)
                yield x[share], y[share]

        return module.train(model, shares())

    return dict(configure=configure, symbol=symbol, loss=loss, train=train)
