"""The CNN in PaddlePaddle as a tutorial writes it: a ``Layer``, a ``DataLoader``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- paddle:plain paddle:best``.
"""

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.io import DataLoader, TensorDataset


class Network(nn.Layer):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2D(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2D(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2D(100, 100, 3, padding=1)
        self.pool = nn.MaxPool2D(2, 2)
        self.linear1 = nn.Linear(6400, 512)
        self.linear2 = nn.Linear(512, 10)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)

    def forward(self, x):
        """Scores of a batch of images."""
        x = F.relu(self.conv1(x))  # (N, 50, 32, 32)
        x = self.pool(F.relu(self.conv2(x)))  # (N, 50, 16, 16)
        x = self.dropout1(x)
        x = F.relu(self.conv3(x))  # (N, 100, 16, 16)
        x = self.pool(F.relu(self.conv4(x)))  # (N, 100, 8, 8)
        x = self.dropout1(x)
        x = F.relu(self.linear1(paddle.flatten(x, 1)))  # (N, 6400), (N, 512)
        x = self.dropout2(x)
        return self.linear2(x)  # (N, 10)


def build(learning_rate=0.01):
    """The model: network, loss and optimiser."""
    network = Network()
    weights = network.parameters()
    optimizer = paddle.optimizer.Momentum(learning_rate, 0.9, parameters=weights)
    return network, nn.CrossEntropyLoss(), optimizer


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    network, criterion, optimizer = model
    data = TensorDataset([paddle.to_tensor(images), paddle.to_tensor(labels)])
    network.train()
    for x, y in DataLoader(data, batch_size=64, shuffle=True):
        loss = criterion(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss.item()
