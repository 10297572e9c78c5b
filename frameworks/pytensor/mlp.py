"""The MLP in PyTensor.

Idiom: symbolic expressions over shared variables; ``pytensor.function`` compiles them (by default
    with Numba, here to C++), and its ``updates`` write the new weights.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the step number is a shared variable like any other. It is float64, because float32 keeps
    five digits of 1 - 0.999.
"""

import numpy as np
import pytensor
from pytensor import tensor as pt

from frameworks.pytensor import cnn
from frameworks.pytensor.cnn import (
    compiled,
    cross_entropy,
    dense,
    evaluate,
    load,
    predict,
    relu,
    train,
    variables,
    wait,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN."""
    return cnn.configure(lane, threads, seed)


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Symbolic images, their scores in training and in prediction, and the shared variables in them.
    """
    shared = variables(dense1=(1000, 784), dense2=(1000, 1000), dense3=(10, 1000))
    x = pt.tensor("x", shape=(None, 1, 28, 28), dtype="float32")
    h = relu(dense(x.reshape((-1, 784)), shared, "dense1"))  # (N, 784); (N, 1000)
    h = relu(dense(h, shared, "dense2"))  # (N, 1000)
    scores = dense(h, shared, "dense3")  # (N, 10), no softmax: the loss applies it
    return x, (scores, scores), shared, {}


def adam(shared, gradients, hp):
    """The updates of shared variables by their gradients."""
    steps = pytensor.shared(np.float64(0))
    correction1, correction2 = (
        pt.cast(1 - pt.power(np.float64(beta), steps + 1), "float32")
        for beta in (hp.beta1, hp.beta2)
    )
    updates = {steps: steps + 1}
    for w, g in zip(shared, gradients):
        m, v = (pytensor.shared(np.zeros_like(w.get_value())) for _ in range(2))
        updates[m] = hp.beta1 * m + (1 - hp.beta1) * g
        updates[v] = hp.beta2 * v + (1 - hp.beta2) * g * g
        root = pt.sqrt(updates[v] / correction2) + hp.epsilon
        updates[w] = w - hp.learning_rate * (updates[m] / correction1) / root
    return updates


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (scores, _), shared, _ = network
    for name, w in shared.items():
        w.set_value(weights[name])
    y = pt.lvector("y")
    cost = cross_entropy(scores, y)
    gradients = pt.grad(cost, list(shared.values()))  # none is asked for x
    return compiled(network, y, cost, adam(shared.values(), gradients, hp), settings)
