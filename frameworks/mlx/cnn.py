"""The CNN in MLX.

Idiom: an ``nn.Module`` whose ``__call__`` is plain Python, and ``nn.value_and_grad`` of a function
    that calls it; the optimiser writes new arrays into the module.
Layout: NHWC, which is all that MLX's convolutions take; a kernel is (out, height, width, in).
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: nothing is computed until it is evaluated. A step whose arrays are not evaluated only
    makes the graph longer, and runs with the first step that is.
"""

import os

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
import numpy as np
from mlx.utils import tree_flatten


def configure(lane, threads, seed):
    """Set seed, precision and compilation; return the settings in force."""
    gpu = "cuda" if mx.cuda.is_available() else "metal" if mx.metal.is_available() else ""
    os.environ["MLX_ENABLE_TF32"] = "0"  # on by default; a GPU's first product reads it
    mx.random.seed(seed)
    return {
        "device": gpu or "cpu",
        "layout": "NHWC",
        "precision": "float32",
        "threads": threads,  # of the BLAS, which the caller has limited; all else takes one
        "seed": seed,
        "tf32": os.environ["MLX_ENABLE_TF32"] != "0",
        "compile": lane == "best",
        "ties": "shared",
        "not_in_force": [] if gpu else ["tf32"],
    }


def load(images, labels, settings):
    """Float32 images (n, 32, 32, 3) and int64 class numbers (n,)."""
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1)), labels


class Network(nn.Module):
    """The layers, and the scores that they give."""

    def __init__(self, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2d(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2d(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2d(100, 100, 3, padding=1)
        self.dense1 = nn.Linear(6400, 512)
        self.dense2 = nn.Linear(512, 10)
        self.pool = nn.MaxPool2d(2)
        # The fraction dropped, not the fraction kept.
        self.drop1, self.drop2, self.drop3 = [nn.Dropout(fraction) for fraction in dropout]

    def __call__(self, x):
        """Scores of a batch of images."""
        x = nn.relu(self.conv1(x))  # (N, 32, 32, 50)
        x = self.pool(nn.relu(self.conv2(x)))  # (N, 16, 16, 50)
        x = self.drop1(x)
        x = nn.relu(self.conv3(x))  # (N, 16, 16, 100)
        x = self.pool(nn.relu(self.conv4(x)))  # (N, 8, 8, 100)
        x = self.drop2(x)
        x = x.transpose(0, 3, 1, 2).flatten(1)  # (N, 6400), in the shared weights' order C, H, W
        x = nn.relu(self.dense1(x))  # (N, 512)
        x = self.drop3(x)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(hp.dropout)


def put(network, weights):
    """Load the canonical weights into the network; kernels have their input channels last."""
    arrays = {name: w.transpose(0, 2, 3, 1) if w.ndim == 4 else w for name, w in weights.items()}
    network.load_weights([(name, mx.array(w)) for name, w in arrays.items()])


def compiled(network, optimizer, step, settings):
    """The model: the network, its training step, and the state that the step changes."""
    optimizer.init(network.trainable_parameters())
    state = [network.state, optimizer.state, mx.random.state]
    if settings["compile"]:
        # What is not listed is a constant of the compiled function, dropout's random key too.
        step = mx.compile(step, inputs=state, outputs=state)
    return network, step, state


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    optimizer = optim.SGD(hp.learning_rate, momentum=hp.momentum)

    def mean_loss(x, y):
        return nn.losses.cross_entropy(network(x), y, reduction="mean")  # of scores

    loss_and_gradients = nn.value_and_grad(network, mean_loss)  # not of x

    def step(x, y):
        step_loss, gradients = loss_and_gradients(x, y)
        optimizer.update(network, gradients)
        return step_loss

    return compiled(network, optimizer, step, settings)


def train(model, batches):
    """One pass over the batches; yields the loss of each step, left on the device."""
    network, step, state = model
    network.train()  # dropout on
    for x, y in batches:
        x = mx.array(x)  # (N, 32, 32, 3)
        y = mx.array(y)  # (N,)
        step_loss = step(x, y)
        mx.async_eval(step_loss, state)  # until here, nothing has run
        yield step_loss


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    network = model[0]
    network.eval()  # dropout off
    parts = [mx.array(x[first : first + 256]) for first in range(0, len(x), 256)]
    return np.concatenate([np.array(network(part)) for part in parts])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return mx.mean(mx.argmax(mx.array(scores), axis=1) == mx.array(labels)).item()


def weights(model):
    """Every weight under its canonical name and in its canonical layout."""
    found = {}
    for name, w in tree_flatten(model[0].parameters()):  # ("conv1.weight", ...)
        w = np.array(w)
        found[name] = w.transpose(0, 3, 1, 2).copy() if w.ndim == 4 else w
    return found


def wait(model):
    """Return when the device has finished the last step."""
    mx.synchronize()
