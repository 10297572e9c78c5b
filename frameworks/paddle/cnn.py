"""The CNN in PaddlePaddle.

Idiom: ``nn.Sequential``, an optimiser that owns the momentum, a dynamic graph; the best lane
    compiles with ``paddle.jit.to_static``: on a GPU the network, on a CPU its convolutions.
Layout: NCHW.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: on a CPU ``nn.CrossEntropyLoss`` raises each score to at least the highest minus 64, so
    that no image has a loss much above 64. Here the loss is written out.
"""

import os

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from frameworks.paddle import onednn


def configure(lane, threads, seed):
    """Set seed, precision and autotune; return the settings in force."""
    best = lane == "best"
    gpu = paddle.device.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0
    paddle.set_device("gpu" if gpu else "cpu")
    paddle.seed(seed)
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # read by cuBLAS and cuDNN when they start
    trace_run = "FLAGS_enable_pir_in_executor_trace_run"
    paddle.set_flags({trace_run: best})  # compiled operations one after the other
    paddle.set_flags({onednn.FLAG: best and not gpu})
    if gpu:  # a wheel for CPUs does not know this flag
        paddle.set_flags({"FLAGS_cudnn_exhaustive_search": best})  # autotune
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NCHW",
        "precision": paddle.get_default_dtype(),
        "threads": int(os.environ["OMP_NUM_THREADS"]),  # read when Paddle is imported
        "seed": seed,
        "tf32": os.environ["NVIDIA_TF32_OVERRIDE"] != "0",
        "autotune": bool(best and gpu),
        "to_static": best,
        "trace_run": paddle.get_flags(trace_run)[trace_run],
        "onednn": paddle.get_flags(onednn.FLAG)[onednn.FLAG],
        "not_in_force": [] if gpu else ["tf32", "autotune"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    network = nn.Sequential(
        ("conv1", nn.Conv2D(3, 50, 3, padding="same")),  # (N, 50, 32, 32)
        ("relu1", nn.ReLU()),
        ("conv2", nn.Conv2D(50, 50, 3, padding="same")),
        ("relu2", nn.ReLU()),
        ("pool1", nn.MaxPool2D(2)),  # (N, 50, 16, 16)
        ("drop1", nn.Dropout(drop1)),  # scales up in training, not down in prediction
        ("conv3", nn.Conv2D(50, 100, 3, padding="same")),  # (N, 100, 16, 16)
        ("relu3", nn.ReLU()),
        ("conv4", nn.Conv2D(100, 100, 3, padding="same")),
        ("relu4", nn.ReLU()),
        ("pool2", nn.MaxPool2D(2)),  # (N, 100, 8, 8)
        ("drop2", nn.Dropout(drop2)),
        ("flatten", nn.Flatten()),  # (N, 6400), in the order C, H, W
        ("dense1", nn.Linear(6400, 512)),  # (N, 512)
        ("relu5", nn.ReLU()),
        ("drop3", nn.Dropout(drop3)),
        ("dense2", nn.Linear(512, 10)),  # (N, 10), no softmax: the loss applies it
    )
    return compiled(network, settings, [None, 3, 32, 32])


def compiled(network, settings, shape):
    """The network, in the best lane with its passes compiled for inputs of this shape.

    With oneDNN, its convolutions alone.
    """
    if not settings["to_static"]:
        return network
    if settings["onednn"]:
        return onednn.convolved(network)
    spec = paddle.static.InputSpec(shape, "float32")
    return paddle.jit.to_static(network, input_spec=[spec], full_graph=True)


def put(network, weights):
    """Copy the canonical weights into the parameters with the same names."""
    # Paddle itself would draw Xavier uniform weights for a Linear, and biases of zero.
    network.set_state_dict({name: w.T if w.ndim == 2 else w for name, w in weights.items()})


def cross_entropy(scores, labels):
    """Softmax cross-entropy, the mean over the batch, written out to be right for any scores."""
    shifted = scores - scores.max(1, keepdim=True).detach()
    # Eigen's exp never gives 0, whatever its argument; its expm1 does give -1.
    logarithm = paddle.log((paddle.expm1(shifted) + 1).sum(1, keepdim=True))
    return F.nll_loss(shifted - logarithm, labels)


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    optimizer = paddle.optimizer.Momentum(
        hp.learning_rate, hp.momentum, parameters=network.parameters()
    )
    return network, cross_entropy, optimizer


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, criterion, optimizer = model
    network.train()  # dropout on
    for x, y in batches:
        x = paddle.to_tensor(x)  # (N, 3, 32, 32)
        y = paddle.to_tensor(y)  # (N,)
        step_loss = criterion(network(x), y)
        step_loss.backward()  # not for x: to_tensor's have stop_gradient=True
        optimizer.step()
        optimizer.clear_grad()
        yield step_loss.detach()


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    network = model[0]
    network.eval()  # dropout off
    with paddle.no_grad():
        scores = [
            network(paddle.to_tensor(x[first : first + 256])).numpy()
            for first in range(0, len(x), 256)
        ]
    return np.concatenate(scores)


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    scores, labels = paddle.to_tensor(scores), paddle.to_tensor(labels)
    return paddle.metric.accuracy(scores, labels.unsqueeze(1)).item()  # labels (n, 1)


def weights(model):
    """Every weight under its canonical name; dense layers are (in, out) in Paddle."""
    found = {name: tensor.numpy() for name, tensor in model[0].state_dict().items()}
    return {name: w.T.copy() if w.ndim == 2 else w for name, w in found.items()}


def wait(model):
    """Return when the GPU has finished; the CPU runs each step before it returns."""
    if paddle.get_device() != "cpu":
        paddle.device.synchronize()
