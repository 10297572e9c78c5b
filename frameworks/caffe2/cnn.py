"""The CNN in Caffe2.

Idiom: ``brew`` adds operators to the nets of a ``ModelHelper``; they work on named blobs in a
    workspace. One net trains, one predicts, over the same weights.
Layout: NCHW.
Momentum: ``v = momentum * v + lr * g; w = w - v``, the learning rate in the velocity.
Surprise: ``build_sgd`` uses Nesterov momentum unless given ``nesterov=False``.
"""

import weakref

import numpy as np
from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, optimizer, workspace

from frameworks.caffe2.ideep import on_ideep

LAYERS = ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2")


def configure(lane, threads, seed):
    """Set threads and autotune; return the settings in force."""
    best = lane == "best"
    cuda = workspace.has_cuda_support and workspace.NumGpuDevices() > 0
    flags = ["log_level=2", "omp_num_threads=%d" % threads, "mkl_num_threads=%d" % threads]
    core.GlobalInit(["caffe2"] + ["--caffe2_" + flag for flag in flags])
    # The process's first call sets the threads; a later one has no effect.
    first = next(flag for flag in core.GetGlobalInitArgs() if "omp_num_threads" in flag)
    return {
        "device": "cuda" if cuda else "cpu",
        "layout": "NCHW",
        "precision": "float32",
        "threads": int(first.split("=")[1]),
        "seed": seed,
        "engine": "CUDNN" if cuda else "",  # "": Caffe2's own operators
        # The CPU's own pool gives the gradient of a tie to every maximum, IDEEP's to one.
        "ideep": "" if cuda else "Conv MaxPool Relu" if best else "MaxPool",
        "cudnn_exhaustive_search": best,  # autotune
        "net_type": "simple",
        "not_in_force": [] if cuda else ["cudnn_exhaustive_search"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) as they are, class numbers (n,) as int32."""
    return images, labels.astype(np.int32)


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    It is two nets over the same weights: one with dropout, one without.
    """
    kind = caffe2_pb2.CUDA if settings["device"] == "cuda" else caffe2_pb2.CPU
    cudnn = {
        "use_cudnn": settings["engine"] == "CUDNN",
        "cudnn_exhaustive_search": settings["cudnn_exhaustive_search"],
    }

    def dropout(model, blob_in, blob_out, rate, layer):
        # Each operator has a generator of its own, which needs a seed of its own.
        seed = (3 * settings["seed"] + layer) % 2**31
        with core.DeviceScope(core.DeviceOption(kind, random_seed=seed)):
            # Of the two nets, only the one that trains has ``init_params``.
            brew.dropout(model, blob_in, blob_out, ratio=rate, is_test=not model.init_params)

    models = []
    for name in ("train", "predict"):
        model = model_helper.ModelHelper(name, arg_scope=cudnn, init_params=name == "train")
        with core.DeviceScope(core.DeviceOption(kind)):
            # Caffe2 would also compute the gradient of the images.
            brew.conv(model, "x", "conv1", 3, 50, 3, pad=1, no_gradient_to_input=1)
            brew.relu(model, "conv1", "conv1")  # in place  (N, 50, 32, 32)
            brew.conv(model, "conv1", "conv2", 50, 50, 3, pad=1)
            brew.relu(model, "conv2", "conv2")
            brew.max_pool(model, "conv2", "pool1", kernel=2, stride=2)  # (N, 50, 16, 16)
            dropout(model, "pool1", "drop1", hp.dropout[0], 0)
            brew.conv(model, "drop1", "conv3", 50, 100, 3, pad=1)  # (N, 100, 16, 16)
            brew.relu(model, "conv3", "conv3")
            brew.conv(model, "conv3", "conv4", 100, 100, 3, pad=1)
            brew.relu(model, "conv4", "conv4")
            brew.max_pool(model, "conv4", "pool2", kernel=2, stride=2)  # (N, 100, 8, 8)
            dropout(model, "pool2", "drop2", hp.dropout[1], 1)
            brew.fc(model, "drop2", "dense1", 6400, 512)  # flattens C, H, W; (N, 512)
            brew.relu(model, "dense1", "dense1")
            dropout(model, "dense1", "drop3", hp.dropout[2], 2)
            brew.fc(model, "drop3", "dense2", 512, 10)  # (N, 10), no softmax: the loss applies it
        on_ideep(model.net, settings["ideep"].split())
        models.append(model)
    return models


def reset(name):
    """Free the blobs of a workspace; Caffe2 cannot delete the workspace itself."""
    current = workspace.CurrentWorkspace()
    workspace.SwitchWorkspace(name)
    workspace.ResetWorkspace()
    workspace.SwitchWorkspace(current)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    train_model, predict_model = network
    device = train_model.net.Proto().op[-1].device_option
    with core.DeviceScope(device):
        train_model.net.SoftmaxWithLoss(["dense2", "y"], ["softmax", "loss"])  # mean of the batch
        train_model.AddGradientOperators(["loss"])
        optimizer.build_sgd(
            train_model,
            base_learning_rate=hp.learning_rate,
            policy="fixed",
            momentum=hp.momentum,
            nesterov=False,
        )
    # Blobs are found by name, so each model has a workspace of its own, named as its net.
    workspace.SwitchWorkspace(train_model.net.Name(), True)
    weakref.finalize(train_model.net, reset, train_model.net.Name())
    workspace.RunNetOnce(train_model.param_init_net)  # velocities too
    for layer in LAYERS:
        # The default, XavierFill, is uniform in a range that depends only on fan_in.
        workspace.FeedBlob(layer + "_w", weights[layer + ".weight"], device)
        workspace.FeedBlob(layer + "_b", weights[layer + ".bias"], device)
    workspace.FeedBlob("x", np.zeros((hp.batch_size, 3, 32, 32), np.float32), device)
    workspace.FeedBlob("y", np.zeros(hp.batch_size, np.int32), device)
    for model in network:
        model.net.Proto().type = settings["net_type"]
        workspace.CreateNet(model.net)
    return train_model.net, predict_model.net, device


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    train_net, _, device = model  # the net with dropout
    for x, y in batches:
        workspace.SwitchWorkspace(train_net.Name())
        workspace.FeedBlob("x", x, device)  # (N, 3, 32, 32)
        workspace.FeedBlob("y", y, device)  # (N,)
        workspace.RunNet(train_net)
        yield workspace.FetchBlob("loss")


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    train_net, predict_net, device = model  # predict_net has no dropout
    workspace.SwitchWorkspace(train_net.Name())
    scores = []
    for first in range(0, len(x), 64):
        workspace.FeedBlob("x", x[first : first + 64], device)
        workspace.RunNet(predict_net)
        scores.append(workspace.FetchBlob("dense2"))
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name; Caffe2's layouts are the canonical ones."""
    workspace.SwitchWorkspace(model[0].Name())
    kinds = ((".weight", "_w"), (".bias", "_b"))
    return {
        layer + kind: workspace.FetchBlob(layer + suffix)
        for layer in LAYERS
        for kind, suffix in kinds
    }


def wait(model):
    """Return at once: ``RunNet`` returns when all operators have run, on a GPU too."""
