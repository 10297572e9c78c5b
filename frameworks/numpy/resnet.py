"""The residual network in NumPy, from scratch: the reference for the others.

Idiom: a list of layers, each with a forward and a backward pass; ``layers.py`` defines them.
    With ARRAY_MODULE=cupy in the environment the same code runs on a GPU.
Layout: NCHW; a convolution copies its windows into the rows of a matrix.
Momentum: ``v = momentum * v - lr * (g + decay * w); w = w + v``, the decay in the gradient, only
    for kernels and matrices.
Batch normalisation: by the batch's mean and variance, divided by n. Prediction uses running values:
    0.9 of the old ones and 0.1 of the batch's, with the variance divided by n - 1.
Surprise: a convolution before batch normalisation needs no bias: the mean is subtracted anyway.
"""

from frameworks.numpy import mlp
from frameworks.numpy.cnn import evaluate, load, loss, predict, train, wait, weights
from frameworks.numpy.layers import BatchNorm, Convolution, Dense, GlobalMean, ReLU, Residual

__all__ = ["configure", "load", "symbol", "loss", "train", "predict", "evaluate", "weights", "wait"]

BLOCKS = {29: (2, 2, 3, 2), 152: (3, 8, 36, 3)}  # blocks in each stage, by depth


def configure(lane, threads, seed):
    """As for the MLP, with the conventions of batch normalisation."""
    settings = dict(mlp.configure(lane, threads, seed), running_variance="unbiased")
    settings["variance"] = "differences"
    del settings["ties"]  # there is no pool
    return settings


def convolution(settings, name, norm, size=1, stride=1, input_gradient=True):
    """A convolution without bias, and batch normalisation; the weights set the channels."""
    conv = Convolution(
        settings,
        name,
        padding=size // 2,
        stride=stride,
        bias=False,
        input_gradient=input_gradient,
    )
    return [conv, BatchNorm(settings, norm)]


def symbol(settings, hp):
    """The network, without an activation on its last layer."""
    network = convolution(settings, "start.conv", "start.norm", size=3, input_gradient=False)
    network.append(ReLU(settings))  # (N, 16, 32, 32)
    for stage, blocks in enumerate(BLOCKS[hp.depth], 1):
        for block in range(1, blocks + 1):
            name = "stage%d.block%d." % (stage, block)
            stride = 2 if stage > 1 and block == 1 else 1
            body = convolution(settings, name + "conv1", name + "norm1")
            body.append(ReLU(settings))
            body += convolution(settings, name + "conv2", name + "norm2", size=3, stride=stride)
            body.append(ReLU(settings))
            body += convolution(settings, name + "conv3", name + "norm3")
            shortcut = []
            if block == 1:
                names = (name + "shortcut.conv", name + "shortcut.norm")
                shortcut = convolution(settings, *names, stride=stride)
            network += [Residual(settings, body, shortcut), ReLU(settings)]
    # (N, 64, 32, 32), (N, 128, 16, 16), (N, 256, 8, 8), (N, 512, 4, 4) after the four stages
    return network + [GlobalMean(settings), Dense(settings, "dense")]  # (N, 512), (N, 10)
