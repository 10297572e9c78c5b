"""Convolutions by oneDNN, in PaddlePaddle's lane best on a CPU.

Paddle's own convolution copies each patch and multiplies on one core. oneDNN's uses all cores, but
only compiled programs call it, with ``FLAGS_use_onednn``; in older versions,
``FLAGS_use_mkldnn``.
Surprise: a program whose last operation oneDNN computes ends in ``dst_tensor shall be defined``;
    after ``assign`` it does not. And to add an array of another shape, as a bias is, or to sum its
    gradient, takes as long as the convolution, in oneDNN as in Paddle. So the bias is added outside
    the program, and is first made as large as the images.
"""

from contextlib import suppress

import paddle
import paddle.nn.functional as F
from paddle import nn


def flag():
    """The name of the flag in this version of Paddle."""
    with suppress(ValueError):
        paddle.get_flags("FLAGS_use_onednn")
        return "FLAGS_use_onednn"
    return "FLAGS_use_mkldnn"


FLAG = flag()


def convolved(network):
    """The network, whose convolutions oneDNN computes; its weights and their names stay."""
    for layer in network.sublayers():
        if isinstance(layer, nn.Conv2D):
            layer.forward = Convolution(layer)
    return network


class Convolution:
    """The forward pass of a convolution, compiled for each shape that it meets."""

    def __init__(self, layer):
        self.layer = layer

        def forward(x, weight):
            options = layer._stride, layer._padding, layer._dilation, layer._groups
            return paddle.assign(F.conv2d(x, weight, None, *options))

        self.program = paddle.jit.to_static(forward, full_graph=True)

    def __call__(self, x):
        """Images (N, C, H, W) to (N, channels, H, W)."""
        y = self.program(x, self.layer.weight)
        if self.layer.bias is None:
            return y
        return y + self.layer.bias.reshape((1, -1, 1, 1)).expand_as(y)
