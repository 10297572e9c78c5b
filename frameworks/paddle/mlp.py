"""The MLP in PaddlePaddle.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, a dynamic graph; the best lane
    compiles the network's two passes with ``paddle.jit.to_static``.
Layout: images of one channel, flattened to rows of 784 pixels.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: the powers of beta are two more tensors for each parameter, so ``state_dict`` of the
    optimiser has four entries for each, not two.
"""

import paddle
from paddle import nn

from frameworks.paddle import cnn, onednn
from frameworks.paddle.cnn import (
    compiled,
    cross_entropy,
    evaluate,
    load,
    predict,
    put,
    train,
    wait,
    weights,
)

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def configure(lane, threads, seed):
    """As for the CNN, but a switch of convolutions is not in force."""
    settings = cnn.configure(lane, threads, seed)
    paddle.set_flags({onednn.FLAG: False})  # the whole network is compiled
    settings["onednn"] = False
    return dict(settings, not_in_force=sorted({"autotune"} | set(settings["not_in_force"])))


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.Sequential(
        ("flatten", nn.Flatten()),  # (N, 784)
        ("dense1", nn.Linear(784, 1000)),  # (N, 1000)
        ("relu1", nn.ReLU()),
        ("dense2", nn.Linear(1000, 1000)),  # (N, 1000)
        ("relu2", nn.ReLU()),
        ("dense3", nn.Linear(1000, 10)),  # (N, 10), no softmax: the loss applies it
    )
    return compiled(network, settings, [None, 1, 28, 28])


def loss(network, settings, hp, weights):
    """The model: network, loss and optimiser, with the initial weights."""
    put(network, weights)
    optimizer = paddle.optimizer.Adam(
        hp.learning_rate,
        beta1=hp.beta1,
        beta2=hp.beta2,
        epsilon=hp.epsilon,
        parameters=network.parameters(),
    )
    return network, cross_entropy, optimizer
