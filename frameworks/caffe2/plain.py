"""The CNN in Caffe2 as a tutorial writes it: ``brew`` and ``build_sgd``, no settings.

The bench times it beside the lanes: ``tox run -e bench -- caffe2:plain caffe2:best``.
"""

import numpy as np
from caffe2.python import brew, model_helper, optimizer, workspace


def build(learning_rate=0.01):
    """The training net."""
    model = model_helper.ModelHelper("plain", arg_scope={"order": "NCHW"})
    brew.conv(model, "data", "conv1", dim_in=3, dim_out=50, kernel=3, pad=1)  # (N, 50, 32, 32)
    brew.relu(model, "conv1", "conv1")
    brew.conv(model, "conv1", "conv2", dim_in=50, dim_out=50, kernel=3, pad=1)
    brew.relu(model, "conv2", "conv2")
    brew.max_pool(model, "conv2", "pool1", kernel=2, stride=2)  # (N, 50, 16, 16)
    brew.dropout(model, "pool1", "drop1", ratio=0.25, is_test=0)
    brew.conv(model, "drop1", "conv3", dim_in=50, dim_out=100, kernel=3, pad=1)  # (N, 100, 16, 16)
    brew.relu(model, "conv3", "conv3")
    brew.conv(model, "conv3", "conv4", dim_in=100, dim_out=100, kernel=3, pad=1)
    brew.relu(model, "conv4", "conv4")
    brew.max_pool(model, "conv4", "pool2", kernel=2, stride=2)  # (N, 100, 8, 8)
    brew.dropout(model, "pool2", "drop2", ratio=0.25, is_test=0)
    brew.fc(model, "drop2", "fc1", dim_in=6400, dim_out=512)  # (N, 512)
    brew.relu(model, "fc1", "fc1")
    brew.dropout(model, "fc1", "drop3", ratio=0.5, is_test=0)
    brew.fc(model, "drop3", "fc2", dim_in=512, dim_out=10)  # (N, 10)
    softmax = brew.softmax(model, "fc2", "softmax")
    cross_entropy = model.LabelCrossEntropy([softmax, "label"], "xent")
    loss = model.AveragedLoss(cross_entropy, "loss")
    model.AddGradientOperators([loss])
    optimizer.build_sgd(model, base_learning_rate=learning_rate, policy="fixed", momentum=0.9)
    workspace.RunNetOnce(model.param_init_net)
    workspace.FeedBlob("data", np.zeros((64, 3, 32, 32), np.float32))
    workspace.FeedBlob("label", np.zeros(64, np.int32))
    workspace.CreateNet(model.net)
    return model.net


def train(model, images, labels):
    """One epoch; returns the last batch's loss. images: (n, 3, 32, 32), labels: (n,)."""
    order = np.random.permutation(len(images))
    for first in range(0, len(images), 64):
        rows = order[first : first + 64]
        workspace.FeedBlob("data", images[rows])
        workspace.FeedBlob("label", labels[rows].astype(np.int32))
        workspace.RunNet(model)
    return workspace.FetchBlob("loss")
