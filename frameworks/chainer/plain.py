"""The CNN in Chainer as a tutorial writes it: a ``Chain``, an iterator, ``update``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- chainer:plain chainer:best``.
"""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Network(chainer.Chain):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 50, 3, pad=1)
            self.conv2 = L.Convolution2D(50, 50, 3, pad=1)
            self.conv3 = L.Convolution2D(50, 100, 3, pad=1)
            self.conv4 = L.Convolution2D(100, 100, 3, pad=1)
            self.fc1 = L.Linear(6400, 512)
            self.fc2 = L.Linear(512, 10)

    def forward(self, x):
        """Scores of a batch of images."""
        x = F.relu(self.conv1(x))  # (N, 50, 32, 32)
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 2)  # (N, 50, 16, 16)
        x = F.dropout(x, 0.25)
        x = F.relu(self.conv3(x))  # (N, 100, 16, 16)
        x = F.max_pooling_2d(F.relu(self.conv4(x)), 2)  # (N, 100, 8, 8)
        x = F.dropout(x, 0.25)
        x = F.relu(self.fc1(x))  # (N, 512), from (N, 6400)
        x = F.dropout(x, 0.5)
        return self.fc2(x)  # (N, 10)


def build(learning_rate=0.01):
    """The model: a classifier and its optimiser."""
    classifier = L.Classifier(Network())
    optimizer = chainer.optimizers.MomentumSGD(lr=learning_rate, momentum=0.9)
    optimizer.setup(classifier)
    return classifier, optimizer


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    classifier, optimizer = model
    data = chainer.datasets.TupleDataset(images, labels.astype(np.int32))
    for batch in chainer.iterators.SerialIterator(data, 64, repeat=False):
        x, y = chainer.dataset.concat_examples(batch)
        optimizer.update(classifier, x, y)
    return classifier.loss.array
