"""The CNN in PyTorch as a tutorial writes it: a ``Dataset``, a ``DataLoader``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- pytorch:plain pytorch:best``.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    """The layers, and the scores that they give."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2d(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2d(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2d(100, 100, 3, padding=1)
        self.fc1 = nn.Linear(6400, 512)
        self.fc2 = nn.Linear(512, 10)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)

    def forward(self, x):
        """Scores of a batch of images."""
        x = F.relu(self.conv1(x))  # (N, 50, 32, 32)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)  # (N, 50, 16, 16)
        x = self.dropout1(x)
        x = F.relu(self.conv3(x))  # (N, 100, 16, 16)
        x = F.max_pool2d(F.relu(self.conv4(x)), 2)  # (N, 100, 8, 8)
        x = self.dropout1(x)
        x = F.relu(self.fc1(torch.flatten(x, 1)))  # (N, 6400), (N, 512)
        x = self.dropout2(x)
        return self.fc2(x)  # (N, 10)


def build(learning_rate=0.01):
    """The model: network, loss and optimiser."""
    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=0.9)
    return network, nn.CrossEntropyLoss(), optimizer


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    network, criterion, optimizer = model
    data = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels))
    network.train()
    for x, y in DataLoader(data, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(network(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()
