"""The MLP in MXNet, with Gluon.

Idiom: a Gluon ``HybridSequential``, which ``hybridize`` compiles to a graph; ``autograd.record``;
    a ``Trainer`` that owns the moments.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * sqrt(c2) / c1 * m / (sqrt(v) + epsilon)``, where c1, c2 = 1 - beta1**t,
    1 - beta2**t: epsilon is the paper's "epsilon hat", added before v is corrected.
Surprise: the docstring of ``mx.optimizer.Adam`` swaps beta1 and beta2 in the bias correction; the
    code has them right.
"""

import mxnet as mx
from mxnet import gluon, nd
from mxnet.gluon import nn

from frameworks.mxnet import cnn
from frameworks.mxnet.cnn import evaluate, load, predict, train, wait, weights

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, except for Adam; switches of convolutions are not in force."""
    settings = with_adam(cnn.configure(lane, threads, seed))
    return dict(settings, not_in_force=sorted({"autotune"} | set(settings["not_in_force"])))


def with_adam(settings):
    """The CNN's settings, but MXNet's Adam updates single tensors and differs by convention."""
    settings["optimizer_aggregation"] = mx.optimizer.Adam().aggregate_num
    return dict(settings, adam_epsilon="uncorrected", adam_scalars="float32 shares")


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.HybridSequential()
    network.add(
        # Dense flattens images to (N, 784) first.
        nn.Dense(1000, in_units=784, activation="relu", prefix="dense1_"),  # (N, 1000)
        nn.Dense(1000, in_units=1000, activation="relu", prefix="dense2_"),  # (N, 1000)
        nn.Dense(10, in_units=1000, prefix="dense3_"),  # (N, 10), no softmax: the loss applies it
    )
    network.initialize(ctx=mx.Context(settings["device"]))
    return network


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    parameters = network.collect_params()
    for name, parameter in parameters.items():  # "dense1_weight"
        parameter.set_data(nd.array(weights[name.replace("_", ".")]))
    # MXNet's "logits" are log-probabilities; in Keras and elsewhere they are scores.
    criterion = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
    graph = {key: settings[key] for key in ("static_alloc", "static_shape")}
    network.hybridize(**graph)  # compiled at the first call
    adam = {"beta1": hp.beta1, "beta2": hp.beta2, "epsilon": hp.epsilon}
    trainer = gluon.Trainer(parameters, "adam", {"learning_rate": hp.learning_rate, **adam})
    return network, criterion, trainer
