"""LeNet-5 in PaddlePaddle.

Idiom: ``nn.Sequential``, an optimiser that owns the moments, a dynamic graph; the best lane
    compiles with ``paddle.jit.to_static``: on a GPU the network, on a CPU its convolutions.
Layout: NCHW.
Adam: ``w = w - lr * (m / c1) / (sqrt(v / c2) + epsilon)``, c1, c2 = 1 - beta1**t, 1 - beta2**t.
Surprise: ``paddle.vision.models.LeNet`` is another network, with ReLU, and pads its first layer.
"""

from paddle import nn

from frameworks.paddle.cnn import compiled, configure, evaluate, load, predict, train, wait, weights
from frameworks.paddle.mlp import loss

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = nn.Sequential(
        ("conv1", nn.Conv2D(3, 6, 5)),  # (N, 6, 28, 28)
        ("pool1", nn.MaxPool2D(2)),  # (N, 6, 14, 14)
        ("sigmoid1", nn.Sigmoid()),  # after the pool: the same numbers, a quarter of the work
        ("conv2", nn.Conv2D(6, 16, 5)),  # (N, 16, 10, 10)
        ("pool2", nn.MaxPool2D(2)),  # (N, 16, 5, 5)
        ("sigmoid2", nn.Sigmoid()),
        ("conv3", nn.Conv2D(16, 120, 4)),  # (N, 120, 2, 2)
        ("sigmoid3", nn.Sigmoid()),
        ("flatten", nn.Flatten()),  # (N, 480), in the order C, H, W
        ("dense1", nn.Linear(480, 84)),  # (N, 84)
        ("sigmoid4", nn.Sigmoid()),
        ("dense2", nn.Linear(84, 10)),  # (N, 10), no softmax: the loss applies it
    )
    return compiled(network, settings, [None, 3, 32, 32])
