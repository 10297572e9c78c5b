"""The CNN in Chainer.

Idiom: a ``Chain`` of links whose ``forward`` is plain Python, run eagerly, and an optimiser that
    owns the momentum. Arrays are NumPy's on a CPU and CuPy's on a GPU.
Layout: NCHW.
Momentum: ``v = momentum * v - lr * g; w = w + v``, the learning rate in the velocity.
Surprise: dropout is switched on and off by ``chainer.config.train``, which belongs to the thread,
    not to the network.
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
    ideep = best and not gpu and intel64.is_ideep_available()  # iDeep: MKL-DNN for Chainer
    device = chainer.get_device("@cupy:0" if gpu else "@intel64" if ideep else "@numpy")
    device.use()
    device.xp.random.seed(seed)  # F.dropout draws from the array library's global generator
    os.environ["CHAINER_SEED"] = str(seed)  # on a GPU from cuDNN's, seeded at its first use
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # read by cuBLAS and cuDNN when they start
    chainer.global_config.dtype = np.dtype(np.float32)
    chainer.global_config.use_ideep = "auto" if ideep else "never"
    chainer.global_config.autotune = best  # off by default
    chainer.global_config.use_cudnn_tensor_core = "never"
    chainer.global_config.type_check = not best
    workspace = 2**29 if best else 2**23  # cuDNN may choose no algorithm that needs more
    if gpu:
        cuda.set_max_workspace_size(workspace)
    off = ["autotune", "tensor_core", "tf32_override", "cudnn_workspace"]
    return {
        "device": "cuda" if gpu else "cpu",
        "chainer_device": str(device),
        "layout": "NCHW",
        "precision": chainer.config.dtype.name,
        "threads": threads,  # of NumPy's BLAS, which the caller has limited
        "seed": seed,
        "tf32_override": os.environ["NVIDIA_TF32_OVERRIDE"],
        "ideep": chainer.config.use_ideep,
        "autotune": chainer.config.autotune,
        "tensor_core": chainer.config.use_cudnn_tensor_core,
        "cudnn_workspace": cuda.get_max_workspace_size() if gpu else workspace,
        "type_check": chainer.config.type_check,
        "not_in_force": [] if gpu else off,
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int32 class numbers (n,), as Chainer's own datasets."""
    return images, labels.astype(np.int32)


def dropout(x, rate):
    """``F.dropout``, with a given mask if it would draw iDeep's, which no seed controls.

    With iDeep, dropout is wrong, with a mask and without, after convolutions whose channels fill
    its vectors (64 or 112; 50 and 100 do not): docs/findings.md.
    """
    mask = None
    if chainer.config.train and chainer.config.use_ideep == "auto":
        kept = np.random.random_sample(x.shape) >= rate
        mask = np.float32(kept / (1 - rate))
    return F.dropout(x, rate, mask=mask)


class CNN(chainer.Chain):
    """The links hold the weights; ``forward`` applies them and the functions without weights."""

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
        # cover_all, the default, adds a window where the size is odd.
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 2, cover_all=False)  # (N, 50, 16, 16)
        x = dropout(x, drop1)
        x = F.relu(self.conv3(x))  # (N, 100, 16, 16)
        x = F.max_pooling_2d(F.relu(self.conv4(x)), 2, cover_all=False)  # (N, 100, 8, 8)
        x = dropout(x, drop2)
        x = F.relu(self.dense1(x))  # (N, 512); Linear flattens to 6400 first, in the order C, H, W
        x = dropout(x, drop3)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return CNN(hp.dropout).to_device(settings["chainer_device"])


def put(network, weights):
    """Copy the canonical weights into the links with the same names; updates are in place."""
    for layer in network.children():
        layer.W.array = network.device.send(weights[layer.name + ".weight"].copy())
        layer.b.array = network.device.send(weights[layer.name + ".bias"].copy())


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    # Chainer's default initialiser is LeCun's normal, not Xavier's uniform.
    put(network, weights)
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
        step_loss.backward()  # not for x: a plain array takes no gradient
        step_loss.unchain_backward()  # frees the step's arrays
        optimizer.update()
        yield step_loss.array


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    network = model[0]
    scores = []
    with chainer.using_config("train", False), chainer.no_backprop_mode():  # dropout off
        for first in range(0, len(x), 64):  # on a CPU a convolution copies each pixel nine times
            part = network.device.send(x[first : first + 64])
            scores.append(cuda.to_cpu(network(part).array))
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float(F.accuracy(scores, labels).array)


def weights(model):
    """Every weight under its canonical name; Chainer's layouts are the canonical ones."""
    found = {}
    for layer in model[0].children():
        found[layer.name + ".weight"] = np.array(cuda.to_cpu(layer.W.array))
        found[layer.name + ".bias"] = np.array(cuda.to_cpu(layer.b.array))
    return found


def wait(model):
    """Return when the GPU has finished; NumPy's calls return when they are done."""
    if model[0].xp is not np:
        cuda.Stream.null.synchronize()
