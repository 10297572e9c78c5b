"""The MLP in Theano.

Idiom: symbolic expressions over shared variables; ``theano.function`` compiles them to C++, and
    its ``updates`` write the new weights.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the step number is a shared variable like any other. It is float64, because float32 keeps
    five digits of 1 - 0.999.
"""

import numpy as np
import theano
from theano import tensor as T
from theano.tensor.nnet import categorical_crossentropy, softmax

from frameworks.theano import cnn
from frameworks.theano.cnn import (
    compiled,
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
    """As for the CNN, but switches of convolutions are not in force."""
    settings = cnn.configure(lane, threads, seed)
    return dict(settings, not_in_force=sorted(key for key in settings if "conv" in key))


def symbol(settings, hp):
    """The network, without an activation on its last layer.

    Scores of symbolic images, in training and in prediction, and the shared variables in them.
    """
    shared = variables(dense1=(1000, 784), dense2=(1000, 1000), dense3=(10, 1000))
    x = T.tensor4("x")
    h = relu(dense(x.flatten(2), shared, "dense1"))  # (N, 784); (N, 1000)
    h = relu(dense(h, shared, "dense2"))  # (N, 1000)
    scores = dense(h, shared, "dense3")  # (N, 10), no softmax: the loss applies it
    return x, (scores, scores), shared


def adam(shared, gradients, hp):
    """The updates of shared variables by their gradients."""
    steps = theano.shared(np.float64(0))
    correction1, correction2 = (
        T.cast(1 - T.pow(np.float64(beta), steps + 1), "float32") for beta in (hp.beta1, hp.beta2)
    )
    updates = [(steps, steps + 1)]
    for w, g in zip(shared, gradients):
        m, v = (theano.shared(np.zeros_like(w.get_value())) for _ in range(2))
        new_m = hp.beta1 * m + (1 - hp.beta1) * g
        new_v = hp.beta2 * v + (1 - hp.beta2) * g * g
        change = (
            hp.learning_rate * (new_m / correction1) / (T.sqrt(new_v / correction2) + hp.epsilon)
        )
        updates += [(m, new_m), (v, new_v), (w, w - change)]
    return updates


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    _, (scores, _), shared = network
    for name, w in shared.items():
        w.set_value(weights[name])
    y = T.lvector("y")
    # Theano merges the softmax and the cross-entropy into one operation that does not overflow.
    cost = categorical_crossentropy(softmax(scores), y).mean()
    gradients = T.grad(cost, list(shared.values()))  # not for x
    return compiled(network, y, cost, adam(shared.values(), gradients, hp), settings)
