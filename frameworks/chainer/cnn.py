"""The CNN in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    is set up with it. Arrays are NumPy's on a CPU and CuPy's on a GPU.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: whether dropout drops is no property of the network: ``chainer.config.train``, a global
    of the thread, decides.
"""

import os

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer.backends import cuda, intel64


def configure(lane, threads, seed):
    """Set device, seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    gpu = cuda.available and cuda.cupy.is_available()
    ideep = best and not gpu and intel64.is_ideep_available()
    device = chainer.get_device("@cupy:0" if gpu else "@intel64" if ideep else "@numpy")
    device.use()
    device.xp.random.seed(seed)  # F.dropout draws from the array library's own stream
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # cuBLAS and cuDNN read it when they start
    chainer.global_config.dtype = np.dtype(np.float32)
    chainer.global_config.autotune = best  # off by default; a large gain on a K80
    chainer.global_config.use_cudnn_tensor_core = "never"
    chainer.global_config.use_ideep = "auto" if best else "never"
    chainer.global_config.type_check = not best
    workspace = 2**29 if best else 2**23  # cuDNN may choose no algorithm that needs more
    if gpu:
        cuda.set_max_workspace_size(workspace)
    off = [] if gpu else ["autotune", "tensor_core", "tf32_override", "cudnn_workspace"]
    return {
        "device": "cuda" if gpu else "cpu",
        "chainer_device": str(device),
        "layout": "NCHW",
        "precision": chainer.config.dtype.name,
        "threads": threads,  # NumPy's BLAS has them from the caller
        "seed": seed,
        "tf32_override": os.environ["NVIDIA_TF32_OVERRIDE"],
        "autotune": chainer.config.autotune,
        "tensor_core": chainer.config.use_cudnn_tensor_core,
        "cudnn_workspace": cuda.get_max_workspace_size() if gpu else workspace,
        "use_ideep": chainer.config.use_ideep,
        "type_check": chainer.config.type_check,
        "not_in_force": off + (["use_ideep"] if best and not ideep else []),
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int32 class numbers (n,), as Chainer's own datasets."""
    return images, labels.astype(np.int32)


class CNN(chainer.Chain):
    """The links hold the weights; ``forward`` applies them, and what has no weights, in order."""

    def __init__(self, dropout):
        super().__init__()
        self.dropout = dropout
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 50, 3, pad=1)
            self.conv2 = L.Convolution2D(50, 50, 3, pad=1)
            self.conv3 = L.Convolution2D(50, 100, 3, pad=1)
            self.conv4 = L.Convolution2D(100, 100, 3, pad=1)
            self.dense1 = L.Linear(6400, 512)
            self.dense2 = L.Linear(512, 10)

    def forward(self, x):
        """Scores of a batch of images."""
        drop1, drop2, drop3 = self.dropout  # the fraction dropped, not the fraction kept
        x = F.relu(self.conv1(x))  # (N, 50, 32, 32)
        # ReLU after pooling gives the same numbers for a quarter of the work. By default Chainer
        # would pool what remains at an odd edge too; here nothing does.
        x = F.relu(F.max_pooling_2d(self.conv2(x), 2, cover_all=False))  # (N, 50, 16, 16)
        x = F.dropout(x, drop1)
        x = F.relu(self.conv3(x))  # (N, 100, 16, 16)
        x = F.relu(F.max_pooling_2d(self.conv4(x), 2, cover_all=False))  # (N, 100, 8, 8)
        x = F.dropout(x, drop2)
        x = F.relu(self.dense1(x))  # (N, 512); Linear flattens to 6400 first, in the order C, H, W
        x = F.dropout(x, drop3)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network as a chain of links."""
    return CNN(hp.dropout).to_device(settings["chainer_device"])


def loss(network, settings, hp, weights):
    """Cross-entropy, SGD with momentum, and the shared initial weights put in place."""
    # Chainer's own initialiser is LeCun's normal; initialisers alone put accuracies 1% apart.
    for name, weight in weights.items():
        layer, kind = name.split(".")
        parameter = network[layer].W if kind == "weight" else network[layer].b
        parameter.array = network.device.send(weight.copy())  # updated in place from here on
    criterion = F.softmax_cross_entropy  # softmax and the mean over the batch included
    optimizer = chainer.optimizers.MomentumSGD(lr=hp.learning_rate, momentum=hp.momentum)
    optimizer.setup(network)
    return network, criterion, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    for x, y in batches:
        x = network.device.send(x)  # (N, 3, 32, 32)
        y = network.device.send(y)  # (N,)
        network.cleargrads()
        with chainer.using_config("train", True):  # dropout on
            step_loss = criterion(network(x), y)
        step_loss.backward()  # none is computed for x, which is a plain array
        step_loss.unchain_backward()  # frees this step's arrays before the next one makes its own
        optimizer.update()
        yield step_loss.array


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    network = model[0]
    scores = []
    # Dropout off: left on, accuracy falls from 77% to 72%.
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        for first in range(0, len(x), 64):  # a CPU's convolution copies each pixel nine times
            part = network.device.send(x[first : first + 64])
            scores.append(cuda.to_cpu(network(part).array))
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(F.accuracy(scores, labels).array)


def weights(model):
    """Every weight under its canonical name; Chainer's layouts are the canonical ones."""
    found = {}
    for layer in ("conv1", "conv2", "conv3", "conv4", "dense1", "dense2"):
        found[layer + ".weight"] = np.array(cuda.to_cpu(model[0][layer].W.array))
        found[layer + ".bias"] = np.array(cuda.to_cpu(model[0][layer].b.array))
    return found


def wait(model):
    """Return when the GPU has finished; NumPy has when it returns."""
    if model[0].xp is not np:
        cuda.Stream.null.synchronize()
