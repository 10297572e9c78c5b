"""The CNN in CNTK.

Idiom: ``cntk.layers`` in a ``Sequential``, a learner and a ``Trainer``.
Layout: NCHW; the batch axis is not written, so an image is (3, 32, 32).
Momentum: ``v = momentum * v + lr * g; w = w - v``, the learning rate in the velocity.
Surprise: momentum has unit gain by default, which scales the gradient by 1 - momentum, so a
    learning rate from elsewhere acts as a tenth of itself (momentum 0.9).
"""

import cntk as C
import numpy as np
from cntk.layers import Convolution2D, Dense, Dropout, MaxPooling, Sequential


def configure(lane, threads, seed):
    """Set device and threads; return the settings in force."""
    best = lane == "best"
    gpu = C.device.use_default_device().type() == 1
    C.cntk_py.set_max_num_cputhreads(threads)
    if gpu and not best:
        C.cntk_py.force_deterministic_algorithms()  # no autotune; it cannot be undone
    return {
        "device": "cuda" if gpu else "cpu",
        "layout": "NCHW",
        "precision": "float32",
        "threads": C.cntk_py.get_max_num_cputhreads(),
        "seed": seed,
        "autotune": not C.cntk_py.should_force_deterministic_algorithms() if gpu else best,
        "not_in_force": [] if gpu else ["autotune"],
    }


def load(images, labels, settings):
    """Float32 images (n, 3, 32, 32) as they are, class numbers one-hot (n, 10)."""
    return images, np.eye(10, dtype=np.float32)[labels]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    seed = 3 * settings["seed"]
    drop1, drop2, drop3 = hp.dropout  # the fraction dropped, not the fraction kept
    x = C.input_variable((3, 32, 32), name="x")  # needs_gradient is False: none is computed for x
    return Sequential(
        [
            Convolution2D(3, 50, activation=C.relu, pad=True, name="conv1"),  # (50, 32, 32)
            Convolution2D(3, 50, activation=C.relu, pad=True, name="conv2"),
            MaxPooling((2, 2), strides=2),  # (50, 16, 16)
            Dropout(drop1, seed=seed),
            Convolution2D(3, 100, activation=C.relu, pad=True, name="conv3"),  # (100, 16, 16)
            Convolution2D(3, 100, activation=C.relu, pad=True, name="conv4"),
            MaxPooling((2, 2), strides=2),  # (100, 8, 8)
            Dropout(drop2, seed=seed + 1),
            Dense(512, activation=C.relu, name="dense1"),  # (512,), from all three axes
            Dropout(drop3, seed=seed + 2),
            Dense(10, name="dense2"),  # (10,), no softmax: the loss applies it
        ]
    )(x)


def put(network, weights):
    """Copy the canonical weights into the blocks with the same names; return {name: block}."""
    blocks = {}
    for name in weights:
        layer, kind = name.split(".")
        block = blocks[layer] = getattr(network, layer)
        if kind == "bias":
            block.b.value = weights[name].reshape(block.b.shape)
        else:  # dense ones are (in, out), with axes C, H, W of in
            w = weights[name] if weights[name].ndim == 4 else weights[name].T
            block.W.value = np.ascontiguousarray(w.reshape(block.W.shape))
    return blocks


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    blocks = put(network, weights)
    y = C.input_variable(10, name="y")
    criterion = C.cross_entropy_with_softmax(network, y)  # takes scores, not probabilities
    learner = C.momentum_sgd(
        network.parameters,
        lr=C.learning_parameter_schedule(hp.learning_rate),  # for the mean gradient of a batch
        momentum=C.momentum_schedule(hp.momentum),
        unit_gain=False,
    )
    return network, blocks, y, C.Trainer(network, criterion, learner)


def train(model, batches):
    """One pass over the batches; yields the loss of each step."""
    network, _, y_variable, trainer = model
    x_variable = network.arguments[0]
    for x, y in batches:
        # The trainer turns dropout on; ``eval`` leaves it off.
        trainer.train_minibatch({x_variable: x, y_variable: y})  # (N, 3, 32, 32), (N, 10)
        yield trainer.previous_minibatch_loss_average


def predict(model, x):
    """Scores (n, 10) of every row, including the last partial batch."""
    network = model[0]
    x_variable = network.arguments[0]
    parts = [x[first : first + 64] for first in range(0, len(x), 64)]
    return np.concatenate([network.eval({x_variable: part}) for part in parts])


def evaluate(scores, labels):
    """Fraction of rows whose highest score is their label."""
    return float((scores.argmax(1) == labels).mean())


def weights(model):
    """Every weight under its canonical name; dense ones are (in, out), with axes C, H, W of in."""
    found = {}
    for layer, block in model[1].items():
        w = block.W.value
        w = w if layer.startswith("conv") else w.reshape(-1, w.shape[-1]).T  # (out, in)
        found[layer + ".weight"] = np.array(w, order="C")
        found[layer + ".bias"] = block.b.value.reshape(-1)
    return found


def wait(model):
    """Return at once: reading a loss has waited for the GPU."""
