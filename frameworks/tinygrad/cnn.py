"""The CNN in tinygrad.

Idiom: a plain class whose ``__call__`` builds a lazy graph of ``Tensor`` methods; ``TinyJit``
    records the kernels of a step, and replays them without Python.
Layout: NCHW.
Momentum: ``v = momentum * v + g; w = w - lr * v``, the learning rate outside the velocity.
Surprise: a replayed function returns the same tensor each time, with another value. A loss that is
    kept and not copied turns into the last one.
"""

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.helpers import ALLOW_TF32, BEAM, JIT, NUM_CPU_THREADS

ROWS = 64  # in a forward pass: each further shape is compiled


def configure(lane, threads, seed):
    """Set threads, seed, precision and autotune; return the settings in force."""
    cpu = Device.DEFAULT == "CPU"
    NUM_CPU_THREADS.value = threads
    BEAM.value = 0  # as by default: no search for faster kernels
    Tensor.manual_seed(seed)
    return {
        "device": "cpu" if cpu else Device.DEFAULT.lower(),
        "layout": "NCHW",
        "precision": "float32",
        "threads": NUM_CPU_THREADS.value,
        "seed": seed,
        "tf32": bool(ALLOW_TF32.value),
        "beam": BEAM.value,
        "jit": JIT.value > 0,
        "ties": "shared",
        "not_in_force": ["tf32"] if cpu else [],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) and int64 class numbers (n,), as they are."""
    return images, labels


class Network:
    """The layers, and the scores that they give."""

    def __init__(self, dropout):
        self.dropout = dropout
        self.conv1 = nn.Conv2d(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2d(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2d(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2d(100, 100, 3, padding=1)
        self.dense1 = nn.Linear(6400, 512)
        self.dense2 = nn.Linear(512, 10)

    def __call__(self, x):
        """Scores of a batch of images."""
        drop1, drop2, drop3 = self.dropout  # the fraction dropped, not the fraction kept
        x = self.conv1(x).relu()  # (N, 50, 32, 32)
        x = self.conv2(x).relu().max_pool2d()  # (N, 50, 16, 16)
        x = x.dropout(drop1)
        x = self.conv3(x).relu()  # (N, 100, 16, 16)
        x = self.conv4(x).relu().max_pool2d()  # (N, 100, 8, 8)
        x = x.dropout(drop2)
        x = x.flatten(1)  # (N, 6400), in the order C, H, W
        x = self.dense1(x).relu()  # (N, 512)
        x = x.dropout(drop3)
        return self.dense2(x)  # (N, 10), no softmax: the loss applies it


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    return Network(hp.dropout)


def put(network, weights):
    """Load the canonical weights into the layers with the same names."""
    tensors = {name: Tensor(w) for name, w in weights.items()}
    nn.state.load_state_dict(network, tensors, verbose=False)


def recorded(network, step):
    """The model: the network, its training step, and the scores of ``ROWS`` images."""

    @TinyJit
    def forward(x):
        return network(x).realize()

    # The first call runs as written, the second is recorded, all others replay it.
    return network, TinyJit(step), forward


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    parameters = nn.state.get_parameters(network)
    optimizer = nn.optim.SGD(parameters, lr=hp.learning_rate, momentum=hp.momentum)

    @Context(TRAINING=1)  # dropout on; without it, the optimiser refuses to step
    def step(x, y):
        optimizer.zero_grad()
        step_loss = network(x).sparse_categorical_crossentropy(y)  # of scores
        step_loss.backward()  # for x, too, but nothing computes that
        return step_loss.realize(*optimizer.schedule_step())

    return recorded(network, step)


def train(model, batches):
    """One pass over the batches; yields the loss of each step, read."""
    step = model[1]
    for x, y in batches:
        x = Tensor(x).realize()  # (N, 3, 32, 32)
        y = Tensor(y).realize()  # (N,)
        yield step(x, y).item()  # read now: the next step writes into the same tensor


def predict(model, x):
    """Scores (n, 10) of every row, the last partial batch too."""
    forward, scores = model[2], []
    for first in range(0, len(x), ROWS):
        part = np.zeros((ROWS,) + x.shape[1:], x.dtype)
        part[: len(x) - first] = x[first : first + ROWS]
        scores.append(forward(Tensor(part).realize()).numpy())
    return np.concatenate(scores)[: len(x)]


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return (Tensor(scores).argmax(1) == Tensor(labels)).mean().item()


def weights(model):
    """Every weight under its canonical name; tinygrad's layouts are the canonical ones."""
    return {name: w.numpy().copy() for name, w in nn.state.get_state_dict(model[0]).items()}


def wait(model):
    """Return when the device has finished the last step."""
    Device[Device.DEFAULT].synchronize()
