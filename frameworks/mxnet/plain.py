"""The CNN in MXNet as a tutorial writes it: Gluon, hybridised, a ``DataLoader``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- mxnet:plain mxnet:best``.
"""

from mxnet import autograd, gluon, init
from mxnet.gluon import nn


def build(learning_rate=0.01):
    """The model: network, loss and trainer."""
    network = nn.HybridSequential()
    network.add(
        nn.Conv2D(50, 3, padding=1, activation="relu"),  # (N, 50, 32, 32)
        nn.Conv2D(50, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2, 2),  # (N, 50, 16, 16)
        nn.Dropout(0.25),
        nn.Conv2D(100, 3, padding=1, activation="relu"),  # (N, 100, 16, 16)
        nn.Conv2D(100, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2, 2),  # (N, 100, 8, 8)
        nn.Dropout(0.25),
        nn.Dense(512, activation="relu"),  # (N, 512), from (N, 6400)
        nn.Dropout(0.5),
        nn.Dense(10),  # (N, 10)
    )
    network.initialize(init.Xavier())
    network.hybridize()
    settings = {"learning_rate": learning_rate, "momentum": 0.9}
    trainer = gluon.Trainer(network.collect_params(), "sgd", settings)
    return network, gluon.loss.SoftmaxCrossEntropyLoss(), trainer


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    network, criterion, trainer = model
    data = gluon.data.ArrayDataset(images, labels)
    for x, y in gluon.data.DataLoader(data, batch_size=64, shuffle=True):
        with autograd.record():
            losses = criterion(network(x), y)
        losses.backward()
        trainer.step(len(y))
    return losses.mean().asscalar()
