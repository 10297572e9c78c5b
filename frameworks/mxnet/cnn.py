"""The CNN in MXNet, with Gluon.

Idiom: a Gluon ``HybridSequential``, which ``hybridize`` compiles to a graph; ``autograd.record``;
    a ``Trainer`` that owns the momentum.
Layout: NCHW; Gluon's convolutions take NHWC on a GPU only.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: the loss is one number per image; ``backward`` adds their gradients up, and
    ``Trainer.step`` divides them by the batch size that it is given.
"""

import ctypes
import os

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn


def configure(lane, threads, seed):
    """Set seed, precision, autotune and graph; return the settings in force."""
    best = lane == "best"
    gpu = mx.context.num_gpus() > 0
    mx.random.seed(seed)
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # read by cuBLAS and cuDNN when they start
    os.environ["MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"] = "0"  # to float16
    # 1 is the default; 2 ignores the limit on the workspace.
    os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "2" if best else "0"
    os.environ["MXNET_OPTIMIZER_AGGREGATION_SIZE"] = "12" if best else "4"  # tensors per update
    off = [] if gpu else ["tf32_override", "tensor_core_conversion", "autotune"]
    if mx.util.getenv("OMP_NUM_THREADS") != str(threads):  # read when MXNet is imported
        off.append("threads")
    return {
        "device": "gpu" if gpu else "cpu",
        "layout": "NCHW",
        "precision": "float32",
        "threads": threads,
        # Intel's, if it was preloaded, replaces the one that MXNet brings.
        "openmp": "Intel" if hasattr(ctypes.CDLL(None), "kmp_get_blocktime") else "GNU",
        "seed": seed,
        "tf32_override": mx.util.getenv("NVIDIA_TF32_OVERRIDE"),
        "tensor_core_conversion": mx.util.getenv("MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION"),
        "autotune": mx.util.getenv("MXNET_CUDNN_AUTOTUNE_DEFAULT"),
        "optimizer_aggregation": mx.optimizer.SGD().aggregate_num,
        "onednn": mx.runtime.Features().is_enabled("MKLDNN"),
        "hybridize": True,
        "static_alloc": best,
        "static_shape": best,
        "not_in_force": off,
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and class numbers (n,), float32 as MXNet's labels are."""
    return images, labels.astype(np.float32)


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    network = nn.HybridSequential()
    network.add(
        nn.Conv2D(50, 3, padding=1, in_channels=3, activation="relu", prefix="conv1_"),
        # (N, 50, 32, 32)
        nn.Conv2D(50, 3, padding=1, in_channels=50, activation="relu", prefix="conv2_"),
        nn.MaxPool2D(2),  # (N, 50, 16, 16)
        nn.Dropout(drop1),
        nn.Conv2D(100, 3, padding=1, in_channels=50, activation="relu", prefix="conv3_"),
        # (N, 100, 16, 16)
        nn.Conv2D(100, 3, padding=1, in_channels=100, activation="relu", prefix="conv4_"),
        nn.MaxPool2D(2),  # (N, 100, 8, 8)
        nn.Dropout(drop2),
        nn.Flatten(),  # (N, 6400), in the order C, H, W
        nn.Dense(512, in_units=6400, activation="relu", prefix="dense1_"),  # (N, 512)
        nn.Dropout(drop3),
        nn.Dense(10, in_units=512, prefix="dense2_"),  # (N, 10), no softmax: the loss applies it
    )
    network.initialize(ctx=mx.Context(settings["device"]))
    return network


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    # Gluon's default initialiser is uniform in +-0.07, whatever the layer's size.
    parameters = network.collect_params()
    for name, parameter in parameters.items():  # "conv1_weight"
        parameter.set_data(nd.array(weights[name.replace("_", ".")]))
    # MXNet's "logits" are log-probabilities; in Keras and elsewhere they are scores.
    criterion = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
    graph = {key: settings[key] for key in ("static_alloc", "static_shape")}
    network.hybridize(**graph)  # compiled at the first call
    momentum = {"learning_rate": hp.learning_rate, "momentum": hp.momentum}
    trainer = gluon.Trainer(parameters, "sgd", momentum)
    return network, criterion, trainer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, trainer = model
    device = network[-1].weight.list_ctx()[0]
    for x, y in batches:
        x = nd.array(x, device)  # (N, 3, 32, 32)
        y = nd.array(y, device)  # (N,)
        with autograd.record():  # dropout on
            # With a temperature it is MXNet's own; on a CPU, oneDNN's is ten times less exact.
            losses = criterion(nd.log_softmax(network(x), temperature=1), y)  # (N,)
        losses.backward()  # not for x, which has no attach_grad()
        trainer.step(len(y))
        yield losses.mean().as_np_ndarray()  # float() rejects a legacy NDArray


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    network = model[0]
    device = network[-1].weight.list_ctx()[0]
    # Dropout is off outside autograd.record().
    parts = [nd.array(x[first : first + 256], device) for first in range(0, len(x), 256)]
    return np.concatenate([network(part).asnumpy() for part in parts])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    metric = mx.metric.Accuracy()
    metric.update([nd.array(labels)], [nd.array(scores)])
    return float(metric.get()[1])


def weights(model):
    """Every weight under its canonical name; MXNet's layouts are the canonical ones."""
    parameters = model[0].collect_params().items()
    return {name.replace("_", "."): parameter.data().asnumpy() for name, parameter in parameters}


def wait(model):
    """Return when everything has been computed; MXNet is asynchronous on a CPU too."""
    nd.waitall()
